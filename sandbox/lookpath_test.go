package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a/prog": 0o755, "b/prog": 0o755, "a/data": 0o644, "b/only": 0o755, "a/sub/x": 0o755} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	path := "PATH=" + dir + "/none:relative::" + dir + "/a:" + dir + "/b"
	for _, tt := range []struct {
		name, want string
		err        error
	}{
		{"prog", "/a/prog", nil},
		{"only", "/b/only", nil},
		{"./b/only", "/b/only", nil},
		{"a/prog", "/a/prog", nil},
		{dir + "/a/prog", "/a/prog", nil},
		{"data", "", fs.ErrPermission},
		{"a/data", "", fs.ErrPermission},
		{"missing", "", exec.ErrNotFound},
		{"", "", exec.ErrNotFound},
		{"a/missing", "", fs.ErrNotExist},
		{"sub", "", exec.ErrNotFound},
	} {
		got, err := lookPath(tt.name, dir, []string{"PATH=/nowhere", path})
		if tt.err != nil {
			if !errors.Is(err, tt.err) {
				t.Errorf("%q: %q, %v", tt.name, got, err)
			}
			continue
		}
		if err != nil || got != dir+tt.want {
			t.Errorf("%q: %q, %v", tt.name, got, err)
		}
	}
	if _, err := lookPath("a", dir, nil); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("without a PATH: %v", err)
	}
	if _, err := lookPath("./a", dir, nil); err == nil {
		t.Error("a folder can be executed")
	}
}
