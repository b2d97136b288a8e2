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
	}, sessiontest.Capabilities{
		Reopen: func(t testing.TB, s session.Store) session.Store {
			return open(t, s.(*sqlite.Store).Path())
		},
		Corrupt: func(t testing.TB, s session.Store, id string, seq int64) {
			raw(t, s.(*sqlite.Store).Path(), `UPDATE records SET payload = CAST('{"x":1}' AS BLOB)
  WHERE key = (SELECT num << 32 FROM sessions WHERE id = ?) + ?`, id, seq)
		},
	})
}
