package diskfile

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// needLocks skips where folders have no locks.
func needLocks(t *testing.T) {
	t.Helper()
	f, err := lockFolder(t.TempDir(), TryLock)
	if err != nil {
		testneed.Need(t, "folders cannot be locked here on %s: %v", runtime.GOOS, err)
	}
	_ = f.Close()
}

// The folder of an ended process is removed. Folders in use, with other names, files and links
// stay.
func TestOpenScratchSweeps(t *testing.T) {
	needLocks(t)
	for _, c := range []struct {
		name   string
		remove func(string) error
		gone   []string
	}{
		{"all", os.RemoveAll, []string{"run-empty", "run-full"}},
		{"empty ones", os.Remove, []string{"run-empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, elsewhere := t.TempDir(), t.TempDir()
			living, err := OpenScratch(dir, "run-", c.remove)
			if err != nil {
				t.Fatal(err)
			}
			living.swept.Wait()
			for _, name := range []string{"run-empty", "run-full/TestOfSomebody/001", "other-1", "run"} {
				if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "run-file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, filepath.Join(dir, "run-link")); err != nil {
				t.Fatal(err)
			}
			before := names(t, dir)
			second, err := OpenScratch(dir, "run-", c.remove)
			if err != nil {
				t.Fatal(err)
			}
			second.swept.Wait()
			want := slices.DeleteFunc(append(before, filepath.Base(second.Path)), func(n string) bool { return slices.Contains(c.gone, n) })
			slices.Sort(want)
			if got := names(t, dir); !slices.Equal(got, want) {
				t.Errorf("left %q, want %q", got, want)
			}
			for _, s := range []*ScratchDir{living, second} {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(s.Path); err == nil {
					t.Errorf("%s is left", s.Path)
				}
			}
			if _, err := os.Stat(elsewhere); err != nil {
				t.Error(err)
			}
		})
	}
}

// Many that start at once never take each other's new folder.
func TestOpenScratchAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				s, err := OpenScratch(dir, "run-", os.RemoveAll)
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(s.Path, "mine"), nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestOpenScratchNowhere(t *testing.T) {
	if _, err := OpenScratch(filepath.Join(t.TempDir(), "none"), "run-", os.RemoveAll); err == nil {
		t.Error("a folder was made where there is none")
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
