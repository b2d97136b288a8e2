package object

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
)

// Acquire implements [session.Leaser]. A slot of the session's log gives the lease. If the previous
// holder has not seen that slot yet, its next append fails because the slot already exists. A
// bucket has no clock for leases, so the caller must determine how long a lease remains.
func (s *Store) Acquire(ctx context.Context, id string, l session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	var got session.Lease
	err := s.withHandle(ctx, "acquire", id, func(h *handle) error {
		if err := h.sync(ctx); err != nil { // do not write a slot for a caller that will get ErrBusy
			return err
		}
		return h.commit(ctx, func(st *state) (*draft, error) {
			if got.Epoch != 0 && st.Epoch == got.Epoch { // an earlier try had written the slot
				return nil, nil
			}
			if st.deleted() {
				return nil, session.ErrNotFound
			}
			if st.Lease != nil && (steal == nil || !steal(*st.Lease)) {
				return nil, &session.BusyError{Session: id, Lease: *st.Lease}
			}
			if got.Epoch <= st.Epoch {
				epoch, err := s.nextEpoch(ctx, st.Epoch)
				if err != nil {
					return nil, err
				}
				got = l.Stored()
				got.Epoch = epoch
			}
			if got.Previous = nil; st.Lease != nil {
				got = got.TakenFrom(*st.Lease)
			}
			next, held := *st, got
			next.Epoch, next.Lease = got.Epoch, &held
			return &draft{entry: entryLease, state: next}, nil
		})
	})
	if err != nil {
		return session.Lease{}, err
	}
	return got, nil
}

// Renew implements [session.Leaser].
func (s *Store) Renew(ctx context.Context, id string, l session.Lease) error {
	return s.withHandle(ctx, "renew", id, func(h *handle) error {
		return h.commit(ctx, func(st *state) (*draft, error) {
			if st.Lease == nil || st.Epoch != l.Epoch {
				return nil, session.ErrFenced
			}
			next, held := *st, l.Stored()
			next.Lease = &held
			return &draft{entry: entryLease, state: next}, nil
		})
	})
}

// Release implements [session.Leaser].
func (s *Store) Release(ctx context.Context, id string, l session.Lease) error {
	return s.withHandle(ctx, "release", id, func(h *handle) error {
		return h.commit(ctx, func(st *state) (*draft, error) {
			next := *st
			switch held := st.Lease; {
			case held == nil:
				return nil, nil
			case st.Epoch == l.Epoch:
				next.Lease = nil
			case held.Previous != nil && held.Previous.Epoch == l.Epoch:
				now := *held
				now.Previous, next.Lease = nil, &now
			default:
				return nil, nil
			}
			return &draft{entry: entryLease, state: next}, nil
		})
	})
}

// Held implements [session.Leaser].
func (s *Store) Held(ctx context.Context, id string) (held *session.Lease, err error) {
	err = s.withHandle(ctx, "held", id, func(h *handle) error {
		if err := h.sync(ctx); err != nil {
			return err
		}
		if h.st.Lease != nil {
			l := *h.st.Lease
			held = &l
		}
		return nil
	})
	return held, err
}

// epochs is the object with the epoch counter.
type epochs struct {
	Format int   `json:"format"`
	Last   int64 `json:"last"`
}

// nextEpoch returns an epoch greater than all earlier ones.
func (s *Store) nextEpoch(ctx context.Context, atLeast int64) (int64, error) {
	if err := s.epochLock.lock(ctx); err != nil {
		return 0, err
	}
	defer s.epochLock.unlock()
	for failed := 0; ; {
		o, err := s.bucket.get(ctx, epochKey, 0)
		if err != nil && !errors.Is(err, errMissing) {
			return 0, err
		}
		var e epochs
		if err == nil {
			if err := unmarshal(o.body, &e); err != nil {
				return 0, fmt.Errorf("%w: %s", err, epochKey)
			}
		}
		e.Format, e.Last = formatVersion, max(e.Last, atLeast)+1
		body, _ := json.Marshal(e) // numbers cannot fail
		if body = append(body, '\n'); err != nil {
			_, err = s.bucket.create(ctx, epochKey, body)
		} else {
			_, err = s.bucket.replace(ctx, epochKey, o.etag, body)
		}
		if err == nil {
			return e.Last, nil
		}
		if failed++; !errors.Is(err, errTaken) && failed > unsureTries || ctx.Err() != nil {
			return 0, err
		}
	}
}
