package workdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// Until it is whole, what replaces a file has no name: who is killed leaves nothing.
func TestUnnamedTempFile(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("d", 0o755); err != nil {
		t.Fatal(err)
	}
	out, named, err := openTemp(root, "d/temp", 0o600, false)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if named {
		testneed.Need(t, "no files without a name in %s", dir)
	}
	if _, err := fill(out, []byte("text"), nil, 0); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(filepath.Join(dir, "d")); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	if err := link(root, out, "d/f"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "d", "f")); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
	if err := link(root, out, "d/f"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that something has: %v", err)
	}
}

// Both ways put the same in place, and leave nothing beside it.
func TestPut(t *testing.T) {
	for _, named := range []bool{false, true} {
		dir := t.TempDir()
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		put := func(text string, before fs.FileInfo, mode fs.FileMode) (fs.FileInfo, error) {
			t.Helper()
			p, err := f.Locate("f")
			if err != nil {
				t.Fatal(err)
			}
			return f.put(p, []byte(text), before, mode, named)
		}
		is := func(text string, mode fs.FileMode) {
			t.Helper()
			b, err := os.ReadFile(filepath.Join(dir, "f"))
			info, serr := os.Stat(filepath.Join(dir, "f"))
			if list, _ := os.ReadDir(dir); err != nil || serr != nil || string(b) != text || info.Mode() != mode || len(list) != 1 {
				t.Errorf("named %v: %q, %v, %v, %d names, %v", named, b, err, info, len(list), serr)
			}
		}
		one, err := put("one", nil, 0o640)
		if err != nil {
			t.Fatal(err)
		}
		is("one", 0o640)
		if _, err := put("none", nil, 0); !errors.Is(err, ErrChanged) {
			t.Errorf("named %v, there is one: %v", named, err)
		}
		is("one", 0o640)
		if _, err := put("two", one, 0); err != nil {
			t.Fatal(err)
		}
		is("two", 0o640)
		if _, err := put("three", one, 0); !errors.Is(err, ErrChanged) {
			t.Errorf("named %v, it is another: %v", named, err)
		}
		is("two", 0o640)
	}
}
