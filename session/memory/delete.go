package memory

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/session"
)

// Delete implements [session.Deleter].
func (s *Store) Delete(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	if l == nil || !l.exists || l.meta.Deleted {
		return fail("delete", id, 0, session.ErrNotFound)
	}
	l.meta.Deleted = true
	s.watchers.Notify(id)
	for l != nil && l.meta.Deleted {
		needed := s.needed(l.meta.ID)
		if needed > 0 {
			keep := max(min(needed-l.meta.ParentSeq, int64(len(l.records))), 0)
			l.records = slices.Clone(l.records[:keep])
			return nil
		}
		delete(s.logs, l.meta.ID)
		l = s.logs[l.meta.Parent]
	}
	return nil
}

// needed returns the highest seq at which a fork of the session starts, or 0 if it has no forks.
func (s *Store) needed(id string) int64 {
	var seq int64
	for _, l := range s.logs {
		if l.exists && l.meta.Parent == id {
			seq = max(seq, l.meta.ParentSeq)
		}
	}
	return seq
}

// PutMeta implements [session.Rebuilder].
func (s *Store) PutMeta(ctx context.Context, m session.Meta) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[m.ID]
	if l == nil || !l.exists {
		return fail("put meta", m.ID, 0, session.ErrNotFound)
	}
	l.meta = m
	return nil
}
