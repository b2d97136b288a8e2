//go:build !unix

package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

func hostileKinds(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"fifo", "socket", "device"} {
		okay(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
}
