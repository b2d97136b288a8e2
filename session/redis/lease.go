package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/holdfast-dev/holdfast/session"
)

// Acquire implements [session.Leaser]. The lease that steal was asked about is compared
// with the one there, in the step that replaces it.
func (s *Store) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	text, err := leaseText("take lease", id, h)
	if err != nil {
		return session.Lease{}, err
	}
	seenEpoch, seen, token := "", "", rand.Text()
	for {
		out, err := s.write(ctx, "take lease", id, acquireScript, seenEpoch, seen, text, token)
		if err != nil {
			return session.Lease{}, err
		}
		if out.word(0) == "ok" {
			h.Epoch = out.number(1)
			return h, nil
		}
		seenEpoch, seen = out.word(1), out.word(2)
		if seenEpoch == "" {
			continue // it was given back meanwhile
		}
		cur, err := parseLease(id, seenEpoch, seen)
		if err != nil {
			return session.Lease{}, err
		}
		if steal == nil || !steal(cur) {
			return session.Lease{}, &session.BusyError{Session: id, Lease: cur}
		}
	}
}

// Renew implements [session.Leaser].
func (s *Store) Renew(ctx context.Context, id string, l session.Lease) error {
	text, err := leaseText("renew lease", id, l)
	if err != nil {
		return err
	}
	_, err = s.write(ctx, "renew lease", id, renewScript, l.Epoch, text)
	return err
}

// Release implements [session.Leaser].
func (s *Store) Release(ctx context.Context, id string, l session.Lease) error {
	_, err := s.write(ctx, "release lease", id, releaseScript, l.Epoch)
	return err
}

// Held implements [session.LeaseReader].
func (s *Store) Held(ctx context.Context, id string) (*session.Lease, error) {
	out, err := s.run(ctx, "read lease", id, heldScript)
	if err != nil || out.word(1) == "" {
		return nil, err
	}
	l, err := parseLease(id, out.word(1), out.word(2))
	if err != nil {
		return nil, err
	}
	return &l, nil
}

// leaseText is a lease without its epoch, which is kept beside it.
func leaseText(op, id string, l session.Lease) (string, error) {
	l.Epoch = 0
	b, err := json.Marshal(l)
	if err != nil { // a year beyond 9999
		return "", &session.Error{Op: op, Session: id, Err: session.ErrInvalid, Detail: err.Error()}
	}
	return string(b), nil
}

func parseLease(id, epoch, text string) (l session.Lease, err error) {
	if err = json.Unmarshal([]byte(text), &l); err == nil {
		l.Epoch, err = strconv.ParseInt(epoch, 10, 64)
	}
	if err != nil {
		return l, &session.Error{Op: "read lease", Session: id, Err: session.ErrCorrupt, Detail: fmt.Sprint("the lease: ", err)}
	}
	return l, nil
}
