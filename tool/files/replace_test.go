package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/tool"
)

// Between the last look and the rename others may have been there: then nothing
// is replaced, and no temp file stays.
func TestReplaceAfterARace(t *testing.T) {
	for name, meddle := range map[string]func(dir string) error{
		"written": func(dir string) error { return os.WriteFile(dir+"/d/f", []byte("theirs, and longer"), 0o644) },
		"replaced": func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/g", []byte("old"), 0o644), os.Rename(dir+"/g", dir+"/d/f"))
		},
		"deleted": func(dir string) error { return os.Remove(dir + "/d/f") },
		"a link":  func(dir string) error { return errors.Join(os.Remove(dir+"/d/f"), os.Symlink("../other", dir+"/d/f")) },
		"moved":   func(dir string) error { return errors.Join(os.Rename(dir+"/d", dir+"/e"), os.Symlink("e", dir+"/d")) },
		"led out": func(dir string) error {
			return errors.Join(os.Rename(dir+"/d", dir+"/e"), os.Symlink("/tmp", dir+"/d"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := errors.Join(os.Mkdir(dir+"/d", 0o755), os.WriteFile(dir+"/d/f", []byte("old"), 0o644), os.WriteFile(dir+"/other", nil, 0o644)); err != nil {
				t.Fatal(err)
			}
			folders, err := tool.OpenFolders(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer folders.Close()
			f, err := New(folders, nil)
			if err != nil {
				t.Fatal(err)
			}
			p, err := folders.Locate("d/f")
			if err != nil {
				t.Fatal(err)
			}
			before, err := p.Stat()
			if err == nil {
				err = meddle(dir)
			}
			if err != nil {
				t.Fatal(err)
			}
			if changes, err := f.replace(p, []byte("ours"), before, ""); err == nil || changes != nil {
				t.Error("it was replaced")
			}
			_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
				if data, err := os.ReadFile(path); err == nil && string(data) == "ours" {
					t.Errorf("%s has it", path)
				}
				return nil
			})
		})
	}
}

func TestReplaceNothing(t *testing.T) {
	dir := t.TempDir()
	folders, err := tool.OpenFolders(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folders.Close()
	f, err := New(folders, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := folders.Locate("new")
	if err == nil {
		err = os.WriteFile(dir+"/new", []byte("theirs"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if changes, err := f.replace(p, []byte("ours"), nil, absent); err == nil || changes != nil {
		t.Error("a file that appeared was replaced")
	}
}
