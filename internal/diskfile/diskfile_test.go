package diskfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"one", "two and more", ""} {
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q, %v; want %q", b, err, text)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// If a file cannot be replaced, the old one stays and no temporary file is left.
func TestWriteRemovesTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(taken, []byte("text")); err == nil {
		t.Error("a folder was replaced")
	}
	if err := Write(filepath.Join(dir, "none", "f"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// A file written in steps has no name until it is placed, and is removed when it is discarded.
func TestPendingFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	begin := func(text string) *PendingFile {
		n, err := Begin(dir, []byte(text))
		if err == nil {
			err = n.Sync()
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := begin("one")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("it has its name too early:", err)
	}
	if err := n.Place(path); err != nil {
		t.Fatal(err)
	}
	if err := begin("two").Discard(); err != nil {
		t.Error(err)
	}
	list, err := os.ReadDir(dir)
	if b, _ := os.ReadFile(path); err != nil || len(list) != 1 || string(b) != "one" {
		t.Errorf("%v, %v: %q", list, err, b)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	a, b := open(), open()
	try := func(f *os.File, want bool) {
		t.Helper()
		ok, err := TryLock(f)
		if errors.Is(err, errors.ErrUnsupported) {
			testneed.Need(t, "no locks here: %v", err)
		}
		if ok != want || err != nil {
			t.Errorf("%v, %v; want %v", ok, err, want)
		}
	}
	try(a, true)
	try(b, false)
	Unlock(a)
	try(b, true)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	try(a, true)
	share := func(f *os.File, want bool) {
		t.Helper()
		if ok, err := TryRLock(f); ok != want || err != nil {
			t.Errorf("%v, %v; want %v", ok, err, want)
		}
	}
	c := open()
	share(c, false)
	share(a, true) // no longer alone
	share(c, true)
	try(a, false)
	Unlock(c)
	try(a, true)
}
