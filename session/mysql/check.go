package mysql

import (
	"context"

	"github.com/holdfast-dev/holdfast/session"
)

// Check implements [session.Checker].
func (s *Store) Check(ctx context.Context) error {
	return s.withConn(ctx, "check store", "", func(t *tx) error {
		var readOnly bool
		if _, err := t.row([]any{&readOnly}, `SELECT @@GLOBAL.read_only FROM holdfast LIMIT 1`); err != nil || !readOnly {
			return err
		}
		return &session.Error{
			Op: "check store", Err: session.ErrReadOnly, Detail: s.addr.shown + " does not accept writes", Hint: "use the primary server, not a replica",
		}
	})
}
