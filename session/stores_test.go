package session_test

import (
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// TestStoresAgree runs the state machine on the stores that write to disk.
func TestStoresAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute: go test -run TestStoresAgree ./session")
	}
	for name, open := range map[string]func(dir string) (session.Store, error){
		"file":   func(dir string) (session.Store, error) { return file.Open(dir, nil) },
		"sqlite": func(dir string) (session.Store, error) { return sqlite.Open(filepath.Join(dir, "sessions.db"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			rapid.Check(t, func(t *rapid.T) {
				sub, err := os.MkdirTemp(dir, "")
				if err != nil {
					t.Fatal(err)
				}
				store, err := open(sub)
				if err != nil {
					t.Fatal(err)
				}
				defer store.(interface{ Close() error }).Close()
				runMachine(t, store)
			})
		})
	}
}
