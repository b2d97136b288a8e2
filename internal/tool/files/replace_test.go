package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
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
			folders, err := workdir.Open(dir)
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
			if changes, err := f.replace(t.Context(), &tool.Call{}, p, []byte("ours"), originalFile{info: before}); err == nil || changes != nil {
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
	folders, err := workdir.Open(dir)
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
	if changes, err := f.replace(t.Context(), &tool.Call{}, p, []byte("ours"), originalFile{sum: absent}); err == nil || changes != nil {
		t.Error("a file that appeared was replaced")
	}
}

// A call that changes a file says first what it was, to whoever keeps that: and where
// nobody can, nothing is changed.
func TestSavedBeforeItIsChanged(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), []byte(content), mode), os.Chmod(filepath.Join(dir, name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "one\n", 0o640)
	write("empty", "", 0o600)
	folders, err := workdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folders.Close()
	f, err := New(folders, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.NewRegistry(f.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	var fails error
	var saved []tool.Image
	run := func(name, input string) tool.Result {
		t.Helper()
		c := &tool.Call{ID: "u", Tool: name, Input: []byte(input), Save: func(_ context.Context, i tool.Image) error {
			there, err := os.ReadFile(i.Path)
			if i.Existed != (err == nil) || i.Existed && string(there) != string(i.Data) {
				t.Errorf("%s: saved after it was changed", i.Path)
			}
			saved = append(saved, i)
			return fails
		}}
		one, _ := tools.Lookup(name)
		if _, err := one.Requests(c); err != nil {
			t.Fatal(err)
		}
		r, err := one.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, in := range []string{"a", "empty"} {
		run("Read", `{"file_path":"`+in+`"}`)
	}
	for _, c := range []struct {
		tool, input   string
		before, after string
		existed       bool
		mode          os.FileMode
		folders       int
	}{
		{"Edit", `{"file_path":"a","old_string":"one","new_string":"two"}`, "one\n", "two\n", true, 0o640, 0},
		{"MultiEdit", `{"file_path":"a","edits":[{"old_string":"two","new_string":"three"}]}`, "two\n", "three\n", true, 0o640, 0},
		{"Write", `{"file_path":"a","content":"four"}`, "three\n", "four", true, 0o640, 0},
		{"Write", `{"file_path":"empty","content":"full"}`, "", "full", true, 0o600, 0},
		{"Write", `{"file_path":"x/y/new","content":"n"}`, "", "n", false, 0, 2},
	} {
		saved = nil
		r := run(c.tool, c.input)
		if r.IsError || len(saved) != 1 {
			t.Fatalf("%s: %+v, saved %d", c.input, r, len(saved))
		}
		i := saved[0]
		if string(i.Data) != c.before || i.Existed != c.existed || i.Mode != c.mode || i.Folders != c.folders || i.Existed && i.Data == nil {
			t.Errorf("%s: %+v", c.input, i)
		}
		if ch := r.Changes[0]; ch.Before != i.Digest || ch.After != i.After || ch.Path != i.Path {
			t.Errorf("%s: %+v is not %+v", c.input, ch, i)
		}
		if got, err := os.ReadFile(i.Path); err != nil || string(got) != c.after {
			t.Errorf("%s: %q, %v", c.input, got, err)
		}
	}
	fails = errors.New("the disk is full")
	for _, in := range []string{`{"file_path":"a","content":"no"}`, `{"file_path":"z/new","content":"no"}`} {
		if r := run("Write", in); !r.IsError || r.Changes != nil {
			t.Errorf("%s: %+v", in, r)
		}
	}
	if got, _ := os.ReadFile(dir + "/a"); string(got) != "four" {
		t.Errorf("a file that could not be saved was changed: %q", got)
	}
	if _, err := os.Stat(dir + "/z"); err == nil {
		t.Error("a folder was made for a file that was not written")
	}
}
