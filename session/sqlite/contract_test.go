package sqlite_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

func TestContract(t *testing.T) {
	sessiontest.Run(t, func(t testing.TB) session.Store {
		return fresh(t)
	}, sessiontest.Caps{
		Reopen: func(t testing.TB, s session.Store) session.Store {
			return open(t, s.(*sqlite.Store).Path())
		},
	})
}
