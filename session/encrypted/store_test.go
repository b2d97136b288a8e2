package encrypted

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// newKey makes an age identity.
func newKey(t testing.TB) *Key {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	k, err := Identities(strings.NewReader(id.String()))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// open wraps a store, and closes it at the end.
func open(t testing.TB, inner session.Store, k *Key) *Store {
	t.Helper()
	s, err := New(t.Context(), inner, k, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStore(t *testing.T) {
	key := newKey(t)
	var dirs sync.Map // of file stores
	for name, c := range map[string]struct {
		open   func(t testing.TB) session.Store
		reopen func(t testing.TB, inner session.Store) session.Store
	}{
		"memory": {
			func(testing.TB) session.Store { return memory.New() },
			func(_ testing.TB, s session.Store) session.Store { return s },
		},
		"sqlite": {
			func(t testing.TB) session.Store { return openSQLite(t, filepath.Join(t.TempDir(), "s.db")) },
			func(t testing.TB, s session.Store) session.Store { return openSQLite(t, s.(*sqlite.Store).Path()) },
		},
		"file": {
			func(t testing.TB) session.Store {
				dir := t.TempDir()
				s := openFile(t, dir)
				dirs.Store(s, dir)
				return s
			},
			func(t testing.TB, s session.Store) session.Store {
				dir, _ := dirs.Load(s)
				return openFile(t, dir.(string))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sessiontest.Run(t, func(t testing.TB) session.Store { return open(t, c.open(t), key) }, sessiontest.Capabilities{
				FoldsCase: name == "file", // it keeps names that differ in more than case, for every medium
				Reopen: func(t testing.TB, s session.Store) session.Store {
					return open(t, c.reopen(t, s.(*Store).Unwrap()), key)
				},
			})
		})
	}
}

func openSQLite(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openFile(t testing.TB, dir string) *file.Store {
	t.Helper()
	s, err := file.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
