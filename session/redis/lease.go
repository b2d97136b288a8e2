package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// Acquire implements [session.Leaser]. The step that replaces the lease compares it with the one
// passed to steal.
func (s *Store) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	before, after, err := leaseText("take lease", id, h)
	if err != nil {
		return session.Lease{}, err
	}
	seenEpoch, seen, token := "", "", rand.Text()
	var former session.Lease
	for {
		out, err := s.write(ctx, "take lease", id, acquireScript(), seenEpoch, seen, before, after, token)
		if err != nil {
			return session.Lease{}, err
		}
		if out.word(0) == "ok" {
			h.Epoch = out.number(1)
			if former.Epoch != 0 {
				h = h.TakenFrom(former)
			}
			return h, nil
		}
		seenEpoch, seen = out.word(1), out.word(2)
		if seenEpoch == "" {
			former = session.Lease{}
			continue // released in the meantime
		}
		cur, err := parseLease(id, out)
		if err != nil {
			return session.Lease{}, err
		}
		former = cur
		if steal == nil || !steal(cur) {
			return session.Lease{}, &session.BusyError{Session: id, Lease: cur}
		}
	}
}

// Renew implements [session.Leaser].
func (s *Store) Renew(ctx context.Context, id string, l session.Lease) error {
	before, after, err := leaseText("renew lease", id, l)
	if err != nil {
		return err
	}
	_, err = s.write(ctx, "renew lease", id, renewScript(), l.Epoch, before, after)
	return err
}

// Release implements [session.Leaser].
func (s *Store) Release(ctx context.Context, id string, l session.Lease) error {
	_, err := s.write(ctx, "release lease", id, releaseScript(), l.Epoch)
	return err
}

// Held implements [session.Leaser].
func (s *Store) Held(ctx context.Context, id string) (*session.Lease, error) {
	out, err := s.run(ctx, "read lease", id, heldScript())
	if err != nil || out.word(1) == "" {
		return nil, err
	}
	l, err := parseLease(id, out)
	if err != nil {
		return nil, err
	}
	return &l, nil
}

// leaseText encodes a lease in two parts, between which the server inserts its time. The epoch and
// the previous holder are stored separately.
func leaseText(op, id string, l session.Lease) (before, after string, err error) {
	l.Epoch, l.Previous = 0, nil
	before, after, err = rows.LeaseParts(l)
	if err != nil { // the year is after 9999
		return "", "", &session.Error{Op: op, Session: id, Err: session.ErrInvalid, Detail: err.Error()}
	}
	return before, after, nil
}

// parseLease decodes a lease: its epoch and text, the server's time, and the previous holder.
func parseLease(id string, out answer) (l session.Lease, err error) {
	if err = json.Unmarshal([]byte(out.word(2)), &l); err == nil {
		l.Epoch, err = strconv.ParseInt(out.word(1), 10, 64)
	}
	if err == nil && out.word(4) != "" {
		var was session.Lease
		if err = json.Unmarshal([]byte(out.word(5)), &was); err == nil {
			was.Epoch, err = strconv.ParseInt(out.word(4), 10, 64)
		}
		l = l.TakenFrom(was)
	}
	if err != nil {
		return l, &session.Error{Op: "read lease", Session: id, Err: session.ErrCorrupt, Detail: fmt.Sprint("the lease: ", err)}
	}
	return l.Remains(out.number(3)), nil
}
