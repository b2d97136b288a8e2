package memory

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Acquire implements [session.Leaser].
func (s *Store) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	if err := ctx.Err(); err != nil {
		return session.Lease{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	if l == nil {
		l = &log{}
		s.logs[id] = l
	}
	if l.lease != nil {
		if !steal(l.held()) {
			return session.Lease{}, &session.BusyError{Session: id, Lease: l.held()}
		}
		h = h.TakenFrom(*l.lease)
	}
	s.epoch++
	l.epoch = s.epoch
	h.Epoch = l.epoch
	kept := h.Stored()
	l.lease, l.renewed = &kept, time.Now()
	return h, nil
}

// Renew implements [session.Leaser].
func (s *Store) Renew(ctx context.Context, id string, h session.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	if l == nil || l.lease == nil || l.epoch != h.Epoch {
		return fail("renew", id, 0, session.ErrFenced)
	}
	h = h.Stored()
	l.lease, l.renewed = &h, time.Now()
	return nil
}

// held returns the lease with its remaining time, measured by the monotonic clock of this program.
func (l *log) held() session.Lease {
	h := *l.lease
	left := h.TTL - time.Since(l.renewed)
	if h.TTL > 0 {
		h.Remaining = &left
	}
	return h
}

// Release implements [session.Leaser].
func (s *Store) Release(ctx context.Context, id string, h session.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	switch {
	case l == nil || l.lease == nil:
	case l.epoch == h.Epoch:
		l.lease = nil
	case l.lease.Previous != nil && l.lease.Previous.Epoch == h.Epoch:
		now := *l.lease
		now.Previous = nil
		l.lease = &now
	}
	return nil
}

// Held implements [session.Leaser].
func (s *Store) Held(ctx context.Context, id string) (*session.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.logs[id]
	if l == nil || l.lease == nil {
		return nil, nil
	}
	held := l.held()
	return &held, nil
}
