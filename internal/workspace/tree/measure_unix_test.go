//go:build unix

package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestMeasure(t *testing.T) {
	s := newTreeEnv(t)
	big := make([]byte, 100_000)
	must(t, os.MkdirAll(s.path("a", "b"), 0o700))
	must(t, os.WriteFile(s.path("a", "big"), big, 0o600))
	must(t, os.Link(s.path("a", "big"), s.path("a", "b", "again")))
	must(t, os.WriteFile(s.path("empty"), nil, 0o600))
	must(t, os.Symlink("/", s.path("root")))
	must(t, os.Symlink(s.out(), s.path("a", "out")))
	sparse, err := os.Create(s.path("sparse"))
	must(t, err)
	must(t, sparse.Truncate(1<<40))
	must(t, sparse.Close())
	got, err := Measure(t.Context(), s.parent, "hostile", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Files != 5 || got.Folders != 2 || got.Unreadable != 0 || got.Mounted != 0 {
		t.Errorf("%+v", got)
	}
	if got.Bytes < 100_000+6*MinBytes || got.Bytes > 300_000 {
		t.Errorf("%d bytes", got.Bytes)
	}
}

func TestMeasureNoFolder(t *testing.T) {
	for name, put := range map[string]func(path string, s *treeEnv) error{
		"link": func(path string, s *treeEnv) error { return os.Symlink(s.out(), path) },
		"file": func(path string, _ *treeEnv) error { return os.WriteFile(path, nil, 0o600) },
	} {
		s := newTreeEnv(t)
		must(t, put(filepath.Join(s.dir, "other"), s))
		if size, err := Measure(t.Context(), s.parent, "other", nil); err == nil || size != (Size{}) {
			t.Errorf("%s: %+v", name, size)
		}
	}
	s := newTreeEnv(t)
	if _, err := Measure(t.Context(), s.parent, "none", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestMeasureEndsWithContext(t *testing.T) {
	s := newTreeEnv(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ctx, s.parent, "hostile", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// If folders are moved during the walk, it counts the files it can still reach.
func TestMeasureRacing(t *testing.T) {
	s := newTreeEnv(t)
	s.createDeep(s.path("0"), 200)
	s.createMany(s.path("many"), 500)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.disturb(stop)
	}()
	for range 50 {
		if _, err := Measure(t.Context(), s.parent, "hostile", nil); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	<-ended
	s.checkOutside()
	if _, err := Remove(t.Context(), s.parent, "hostile"); err != nil {
		t.Error(err)
	}
}

// Measuring stops at the limit, also in a tree that keeps growing.
func TestMeasureLimit(t *testing.T) {
	dir := t.TempDir()
	for i := range 5000 {
		must(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600))
	}
	f, err := os.Open(filepath.Dir(dir))
	must(t, err)
	defer f.Close()
	for most, all := range map[int64]bool{0: true, 5000 * MinBytes: true, 10 * MinBytes: false} {
		size, err := Measure(t.Context(), f, filepath.Base(dir), &Options{MaxBytes: most})
		if err != nil || (size.Files == 5000) != all || size.Bytes <= most && !all {
			t.Errorf("%d: %+v, %v", most, size, err)
		}
	}
}
