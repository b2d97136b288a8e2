//go:build linux

package diskfile

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHasContent(t *testing.T) {
	text := []byte("registry=https://npm.example.com/\n")
	for name, tt := range map[string]struct {
		make func(path string) error
		want bool
	}{
		"written":  {func(string) error { return nil }, true},
		"shorter":  {func(p string) error { return os.Truncate(p, 3) }, false},
		"longer":   {func(p string) error { return WriteUnsynced(p, append(text, '\n')) }, false},
		"other":    {func(p string) error { return WriteUnsynced(p, []byte("registry=https://npm.example.org/\n")) }, false},
		"gone":     {os.Remove, false},
		"open":     {func(p string) error { return os.Chmod(p, 0o644) }, false},
		"shared":   {func(p string) error { return os.Link(p, p+".too") }, false},
		"a folder": {func(p string) error { return replace(p, func() error { return os.Mkdir(p, 0o700) }) }, false},
		"a pipe":   {func(p string) error { return replace(p, func() error { return unix.Mkfifo(p, 0o600) }) }, false},
		"a link to the same": {func(p string) error {
			if err := os.Rename(p, p+".there"); err != nil {
				return err
			}
			return os.Symlink(p+".there", p)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "npmrc")
			if err := WriteUnsynced(path, text); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			if got := HasContent(path, text); got != tt.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func replace(path string, by func() error) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return by()
}
