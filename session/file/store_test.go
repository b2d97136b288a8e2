package file

import (
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

func TestContract(t *testing.T) {
	sessiontest.Run(t, func(t testing.TB) session.Store { return openStore(t, fastDir(t)) }, sessiontest.Caps{
		FoldsCase: true,
		Reopen: func(t testing.TB, s session.Store) session.Store {
			return openStore(t, s.(*Store).root.Name())
		},
	})
}

// openStore opens a store and closes it when the test ends.
func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
