//go:build unix

package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// A tree with every kind of hostile file is measured, and then removed.
func TestRemoveHostile(t *testing.T) {
	s := newTreeEnv(t)
	s.fill()
	before := openFiles(t)
	s.checkMeasured()
	began := time.Now()
	removed, err := Remove(t.Context(), s.parent, "hostile")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d entries removed in %v", removed.Entries, time.Since(began))
	if least := int64(depth() + many()); removed.Entries < least {
		t.Errorf("%d entries, want more than %d", removed.Entries, least)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, before there were %d", after, before)
	}
	s.checkRemoved()
}

// checkMeasured checks the measured sizes of the whole tree.
func (s *treeEnv) checkMeasured() {
	t, began := s.t, time.Now()
	got, err := Measure(t.Context(), s.parent, "hostile", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v in %v", got, time.Since(began))
	if got.Folders < int64(depth()) || got.Files < int64(many()) {
		t.Errorf("%+v", got)
	}
	if locked := got.Unreadable > 0; locked != (os.Getuid() != 0) {
		t.Errorf("%d folders could not be read as user %d", got.Unreadable, os.Getuid())
	}
	if all, err := Measure(t.Context(), s.parent, "hostile", &Options{Unlock: true}); err != nil || all.Unreadable > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	s.checkOutside()
}

// openFiles counts this process's open files, where the system supports it.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

func TestAsUser(t *testing.T) {
	asUser(t, "^(TestRemove.*|TestMeasure.*)$", "HOLDFAST_HEAVY=")
}

func TestRemoveKinds(t *testing.T) {
	for name, put := range map[string]func(s *treeEnv) error{
		"link to a folder": func(s *treeEnv) error { return os.Symlink(s.out("sub"), s.path()) },
		"link to a file":   func(s *treeEnv) error { return os.Symlink(s.out("file"), s.path()) },
		"link to nothing":  func(s *treeEnv) error { return os.Symlink("/no/such", s.path()) },
		"file":             func(s *treeEnv) error { return os.WriteFile(s.path(), nil, 0) },
		"hard link":        func(s *treeEnv) error { return os.Link(s.out("file"), s.path()) },
		"empty folder":     func(s *treeEnv) error { return os.Mkdir(s.path(), 0) },
		"nothing":          func(*treeEnv) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTreeEnv(t)
			must(t, os.Remove(s.path()))
			must(t, put(s))
			want := int64(1)
			if name == "nothing" {
				want = 0
			}
			if got, err := Remove(t.Context(), s.parent, "hostile"); err != nil || got.Entries != want {
				t.Errorf("%+v, %v", got, err)
			}
			s.checkRemoved()
		})
	}
}

// Names that are not an entry of the folder are rejected.
func TestRemoveInvalidNames(t *testing.T) {
	s := newTreeEnv(t)
	_ = s.parent.Close()
	if _, err := Remove(t.Context(), s.parent, "hostile"); err == nil {
		t.Error("a folder that is closed is no error")
	}
	s.checkOutside()
}

func TestRemoveEndsWithContext(t *testing.T) {
	s := newTreeEnv(t)
	s.createMany(s.path("many"), 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Remove(ctx, s.parent, "hostile"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Remove(t.Context(), s.parent, "hostile"); err != nil {
		t.Error(err)
	}
	s.checkRemoved()
}

// Files of another user stay and are reported; everything else is removed.
func TestRemoveWithoutRights(t *testing.T) {
	testneed.Root(t, "making files of another user")
	dir, err := os.MkdirTemp("", "holdfast-rights-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o777))
	for i := range 8 {
		must(t, os.MkdirAll(filepath.Join(dir, "hostile", "foreign", fmt.Sprint(i)), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(dir, "hostile", "own"), nil, 0o600))
	must(t, os.Chown(filepath.Join(dir, "hostile"), 4711, 4711))
	asUser(t, "^TestForeign$", "HOLDFAST_TEST_FOREIGN="+dir)
	if list, err := os.ReadDir(filepath.Join(dir, "hostile")); err != nil || len(list) != 1 || list[0].Name() != "foreign" {
		t.Errorf("%v is left, %v", list, err)
	}
}

// TestForeign is the part of TestRemoveWithoutRights that runs as another user.
func TestForeign(t *testing.T) {
	dir := os.Getenv("HOLDFAST_TEST_FOREIGN")
	if dir == "" {
		t.Skip("a part of TestRemoveWithoutRights")
	}
	parent, err := os.Open(dir)
	must(t, err)
	defer parent.Close()
	_, err = Remove(t.Context(), parent, "hostile")
	left, ok := errors.AsType[*RemainingError](err)
	if !ok || left.Count != 8 || len(left.Paths) != maxPaths || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "foreign/") || !strings.Contains(err.Error(), "(and 3 more)") {
		t.Errorf("%+v", err)
	}
}

// Another process keeps replacing folders by links, moving them and creating new ones.
func TestRemoveRacing(t *testing.T) {
	rounds := 5
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		s := newTreeEnv(t)
		for i := range 10 {
			for j := range 10 {
				must(t, os.MkdirAll(s.path(fmt.Sprint(i), fmt.Sprint(j), "x"), 0o700))
			}
		}
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			s.disturb(stop)
		}()
		_, err := Remove(t.Context(), s.parent, "hostile")
		close(stop)
		<-ended
		if err != nil && !errors.Is(err, ErrWriting) {
			if _, ok := errors.AsType[*RemainingError](err); !ok {
				t.Error(err)
			}
		}
		s.checkOutside()
		if _, err := Remove(t.Context(), s.parent, "hostile"); err != nil {
			t.Error(err)
		}
		s.checkRemoved()
	}
}

// disturb does what a process can do to a folder that is being removed.
func (s *treeEnv) disturb(stop chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		// Failures are ignored: the folder may be gone by now.
		i, j := fmt.Sprint(n%10), fmt.Sprint(n%10)
		_ = os.Rename(s.path(i, j), s.path(i, "moved"))
		_ = os.Symlink(s.out(), s.path(i, j))
		_ = os.Rename(s.path(i, "moved"), s.path(fmt.Sprint((n+7)%10), "back"))
		_ = os.Rename(s.path(i), s.path("swap"))
		_ = os.Symlink(s.out("sub"), s.path(i))
		_ = os.Remove(s.path(i)) // the link: the test must not write through it
		_ = os.Rename(s.path("swap"), s.path(i))
		if n%5 == 0 {
			_ = os.Mkdir(s.path("new"), 0)
		}
	}
}
