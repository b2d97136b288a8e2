package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// diskEnv is a HOLDFAST_HOME with workspaces; their containers are only recorded.
type diskEnv struct {
	*Workspaces
	t        *testing.T
	sessions *session.Sessions
	removed  []string // containers
}

func newDiskEnv(t *testing.T) *diskEnv {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	okay(t, err)
	return diskEnvAt(t, filepath.Join(home, "holdfast"), session.New(memory.New(), nil))
}

// diskEnvAt is another process with the same home.
func diskEnvAt(t *testing.T, home string, sessions *session.Sessions) *diskEnv {
	t.Helper()
	d := &diskEnv{t: t, sessions: sessions}
	w, err := New(home, &Options{Sessions: sessions, Clock: func() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC) }})
	okay(t, err)
	w.remove = func(_ context.Context, slug string) error {
		d.removed = append(d.removed, slug)
		return nil
	}
	d.Workspaces = w
	return d
}

func okay(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// make creates a workspace.
func (d *diskEnv) make(s Settings) *Settings {
	d.t.Helper()
	made, err := d.Create(d.t.Context(), s)
	okay(d.t, err)
	return made
}

// at returns a path in the folder of workspaces.
func (d *diskEnv) at(names ...string) string {
	return filepath.Join(append([]string{d.folder()}, names...)...)
}

// outsideFolder creates a folder with a file that must not change, and checks that when the test ends.
func outsideFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	okay(t, err)
	okay(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	file := filepath.Join(dir, "sub", "file")
	okay(t, os.WriteFile(file, []byte("untouched"), 0o640))
	before := folderText(t, dir)
	t.Cleanup(func() {
		if now := folderText(t, dir); now != before {
			t.Errorf("outside was\n%s\nand is\n%s", before, now)
		}
	})
	return dir
}

// folderText returns the content of a folder as text.
func folderText(t *testing.T, dir string) string {
	t.Helper()
	text := ""
	okay(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text += path + " " + info.Mode().String()
		if e.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(b)
		}
		text += "\n"
		return nil
	}))
	return text
}

func noFile(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there: %v", path, err)
	}
}
