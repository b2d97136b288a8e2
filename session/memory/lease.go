package memory

import (
	"context"

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
	if l.lease != nil && !steal(*l.lease) {
		return session.Lease{}, &session.BusyError{Session: id, Lease: *l.lease}
	}
	s.epoch++
	l.epoch = s.epoch
	h.Epoch = l.epoch
	l.lease = &h
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
	l.lease = &h
	return nil
}

// Release implements [session.Leaser].
func (s *Store) Release(ctx context.Context, id string, h session.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.logs[id]; l != nil && l.lease != nil && l.epoch == h.Epoch {
		l.lease = nil
	}
	return nil
}

// Held implements [session.LeaseReader].
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
	held := *l.lease
	return &held, nil
}
