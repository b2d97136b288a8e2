package quarantine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// put moves a folder with a file into quarantine, and returns its original path.
func put(t *testing.T, f Folder) (path string, i *Item) {
	t.Helper()
	path = filepath.Join(t.TempDir(), ".tool")
	if err := errors.Join(os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "settings"), []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if i, err = f.Move(int(dir.Fd()), path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("it is there: %v", err)
	}
	return path, i
}

func TestRestore(t *testing.T) {
	for name, parent := range map[string]string{"same disk": "", "another disk": "/dev/shm"} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp(parent, "holdfast-")
			if err != nil {
				t.Skip(err)
			}
			defer os.RemoveAll(dir)
			f := Folder(filepath.Join(dir, "q"))
			path, i := put(t, f)
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Restore(i.ID); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over what is there: %v", err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if got, err := f.Restore(i.ID); err != nil || got.Path != path {
				t.Errorf("%+v, %v", got, err)
			}
			if b, err := os.ReadFile(filepath.Join(path, "settings")); err != nil || string(b) != "x" {
				t.Errorf("%q, %v", b, err)
			}
			if !f.IsOwn(path) {
				t.Error("a sandbox would move it again")
			}
			if items, err := f.List(); err != nil || len(items) > 0 {
				t.Errorf("left are %v, %v", items, err)
			}
		})
	}
}

func TestListAndRemove(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "q"))
	if items, err := f.List(); err != nil || len(items) > 0 {
		t.Errorf("%v, %v", items, err)
	}
	path, i := put(t, f)
	_, second := put(t, f)
	items, err := f.List()
	if err != nil || len(items) != 2 || items[0].ID != second.ID || items[1].Path != path {
		t.Errorf("%v, %v", items, err)
	}
	if b, err := os.ReadFile(filepath.Join(f.Content(i), "settings")); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	for _, id := range []string{"", ".", "..", "../q", "none", ".kept"} {
		if err := f.Remove(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := f.Remove(i.ID); err != nil {
		t.Error(err)
	}
	if items, err := f.List(); err != nil || len(items) != 1 {
		t.Errorf("%v, %v", items, err)
	}
}

// A mark is valid only for the created file, and not for another file with the same name.
func TestMarkOwn(t *testing.T) {
	f, dir := Folder(filepath.Join(t.TempDir(), "q")), t.TempDir()
	path := filepath.Join(dir, ".tool", "deep", "settings")
	if err := f.MarkOwn(path, func() error {
		if !f.IsOwn(filepath.Join(dir, ".tool")) || f.IsOwn(dir) {
			t.Error("what is about to be made is not known")
		}
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644))
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".tool", ".tool/deep", ".tool/deep/settings"} {
		if !f.IsOwn(filepath.Join(dir, name)) {
			t.Errorf("%s is not kept", name)
		}
	}
	if err := errors.Join(os.Rename(filepath.Join(dir, ".tool"), filepath.Join(dir, "old")), os.Mkdir(filepath.Join(dir, ".tool"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if f.IsOwn(filepath.Join(dir, ".tool")) {
		t.Error("another folder of the name is kept")
	}
	failed := errors.New("failed")
	if err := f.MarkOwn(filepath.Join(dir, ".none"), func() error { return failed }); !errors.Is(err, failed) || f.IsOwn(filepath.Join(dir, ".none")) {
		t.Errorf("%v", err)
	}
	if err := Folder("").MarkOwn(path, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("without a quarantine: %v", err)
	}
}
