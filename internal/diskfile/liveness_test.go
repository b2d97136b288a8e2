package diskfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

func TestLivenessLocks(t *testing.T) {
	if runtime.GOOS != "linux" {
		testneed.Need(t, "no locks that name who lives on %s", runtime.GOOS)
	}
	path := filepath.Join(t.TempDir(), "holders")
	open := func() *LivenessLocks {
		return NewLivenessLocks(func() (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) })
	}
	a, b := open(), open()
	t.Cleanup(b.Close)
	check := func(what string, name string, n int64, want bool) {
		t.Helper()
		for _, h := range []*LivenessLocks{a, b} {
			if held, known := h.IsLocked(name, n); held != want || !known {
				t.Errorf("%s: held %v, known %v", what, held, known)
			}
		}
	}
	check("nobody", "s", 1, false)
	for range 2 {
		if err := a.Lock("s", 1); err != nil {
			t.Fatal(err)
		}
	}
	check("held", "s", 1, true)
	check("another number", "s", 2, false)
	check("another name", "s\x001", 1, false)
	if err := b.Lock("s", 1); err == nil {
		t.Error("held twice")
	}
	b.Unlock("s", 1)
	check("dropped by another", "s", 1, true)
	if f, err := os.Open(path); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	check("the file was closed elsewhere", "s", 1, true)
	a.Unlock("s", 1)
	check("dropped", "s", 1, false)
	if err := a.Lock("s", 3); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if held, known := b.IsLocked("s", 3); held || !known {
		t.Error("held by who is closed")
	}
	if held, known := a.IsLocked("s", 3); held || known {
		t.Error("known to who is closed")
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}
