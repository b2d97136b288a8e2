package memory

import (
	"context"

	"github.com/holdfast-dev/holdfast/session"
)

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := ctx.Err(); err != nil {
		return session.Page{}, err
	}
	return q.Select(s.metas(q.ID))
}

// metas returns the metadata of all sessions, or of one.
func (s *Store) metas(id string) []session.Meta {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if id != "" {
		if l := s.logs[id]; l != nil && l.exists {
			return []session.Meta{l.meta}
		}
		return nil
	}
	all := make([]session.Meta, 0, len(s.logs))
	for _, l := range s.logs {
		if l.exists {
			all = append(all, l.meta)
		}
	}
	return all
}
