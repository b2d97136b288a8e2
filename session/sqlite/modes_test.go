//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that others may read they may not read once the store was opened.
func TestModeIsTightened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	for range 2 {
		s, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(path)
		if err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", fi.Mode(), err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
