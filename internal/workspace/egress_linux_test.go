package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever an agent put in the place of the proxy's socket, the socket is created.
func TestListenReplacesFile(t *testing.T) {
	to := outsideFolder(t)
	for name, put := range map[string]func(path string) error{
		"nothing":  func(string) error { return nil },
		"a file":   func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"a link":   func(path string) error { return os.Symlink(filepath.Join(to, "sub"), path) },
		"a folder": func(path string) error { return os.MkdirAll(filepath.Join(path, "sub", "sub"), 0o755) },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "egress.sock")
		okay(t, put(path))
		run, err := os.OpenRoot(dir)
		okay(t, err)
		l, err := listenIn(run, "egress.sock")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSocket {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if left := inFolder(t, dir); len(left) != 1 {
			t.Errorf("%s: %q", name, left)
		}
		_ = l.Close()
		_ = run.Close()
	}
}
