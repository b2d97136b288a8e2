package sqlite

import (
	"context"

	"github.com/holdfast-dev/holdfast/session"
)

// Check implements [session.Checker]: it looks whether the file is still there and was not
// given up, reads from it, and writes a small file beside it, since a full disk shows only
// then.
func (s *Store) Check(ctx context.Context) error {
	s.writer.mu.Lock()
	poison := s.writer.refuse()
	s.writer.mu.Unlock()
	if poison == nil {
		poison = s.isReplaced()
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
