package redis

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// Check implements [session.Checker].
func (s *Store) Check(ctx context.Context) error {
	if _, err := s.List(ctx, session.Query{Limit: 1}); err != nil {
		return err
	}
	_, err := s.try(ctx, "check store", "", func(ctx context.Context) (answer, error) {
		info, err := text(s.db.Do(ctx, "INFO", "replication"))
		if err == nil && strings.Contains(info, "role:slave") {
			err = &session.Error{
				Op: "check store", Err: session.ErrReadOnly, Detail: s.shown + ": the server is a replica", Hint: "use the primary server",
			}
		}
		return nil, err
	})
	return err
}
