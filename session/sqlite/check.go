package sqlite

import (
	"context"

	"github.com/holdfast-dev/holdfast/session"
)

// Check implements [session.Checker]. It checks that the file still exists and the store is
// usable, reads from the file, and writes a small file next to it, because only a write detects a
// full disk.
func (s *Store) Check(ctx context.Context) error {
	s.writer.mu.Lock()
	poison := s.writer.refuse()
	s.writer.mu.Unlock()
	if poison == nil {
		poison = s.checkReplaced()
	}
	if poison != nil {
		return s.named("check store", "", poison)
	}
	if _, err := s.List(ctx, session.Query{Limit: 1}); err != nil {
		return err
	}
	switch err := probe(s.path); {
	case err == nil:
		return nil
	case isFull(err):
		return &session.Error{Op: "check store", Err: session.ErrFull, Detail: err.Error(), Hint: s.fullHint()}
	case isReadOnlyFS(err):
		return s.readOnly(&session.Error{Op: "check store"})
	default:
		return &session.Error{Op: "check store", Err: err, Detail: s.path, Hint: s.poisonHint()}
	}
}
