package session_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// opener opens a new, empty store, which is closed when the test ends.
type opener func(t testing.TB) session.Store

// onEveryStore runs a test of the corpus on each store that needs no server. Those with
// servers are held to the same by the kit.
func onEveryStore(t *testing.T, test func(t *testing.T, fresh opener)) {
	t.Run("memory", func(t *testing.T) { test(t, func(testing.TB) session.Store { return memory.New() }) })
	t.Run("sqlite", func(t *testing.T) {
		test(t, func(t testing.TB) session.Store {
			s := must(sqlite.Open(filepath.Join(t.TempDir(), "sessions.db"), nil))(t)
			t.Cleanup(func() { s.Close() })
			return s
		})
	})
	if runtime.GOOS == "windows" {
		return // the file store needs a Unix system
	}
	t.Run("file", func(t *testing.T) {
		test(t, func(t testing.TB) session.Store {
			s := must(file.Open(t.TempDir(), nil))(t)
			t.Cleanup(func() { s.Close() })
			return s
		})
	})
}
