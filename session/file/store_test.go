package file

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

func TestContract(t *testing.T) {
	sessiontest.Run(t, func(t testing.TB) session.Store { return openStore(t, fastDir(t)) }, sessiontest.Capabilities{
		FoldsCase: true,
		Reopen: func(t testing.TB, s session.Store) session.Store {
			return openStore(t, s.(*Store).root.Name())
		},
		Corrupt: func(t testing.TB, s session.Store, id string, seq int64) {
			name := filepath.Join(s.(*Store).root.Name(), id, logName)
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for range seq - 1 {
				at += bytes.IndexByte(b[at:], '\n') + 1
			}
			b[at+40] ^= 0x20 // in its JSON
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		Tear: func(t testing.TB, s session.Store, id string) {
			f, err := os.OpenFile(filepath.Join(s.(*Store).root.Name(), id, logName), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			a := &author{id: id, seq: 99}
			first, second := a.item("whole"), a.item("torn")
			text := appendLine(appendLine(nil, &first, 1), &second, 0)
			if _, err := f.Write(text[:len(text)-20]); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
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
