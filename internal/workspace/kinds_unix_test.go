//go:build unix

package workspace

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// hostileKinds creates a FIFO, a socket and a device in a folder; where devices cannot be created, another
// FIFO.
func hostileKinds(t *testing.T, dir string) {
	t.Helper()
	okay(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	short, err := os.MkdirTemp("", "s")
	okay(t, err)
	defer os.RemoveAll(short)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s"), Net: "unix"})
	okay(t, err)
	l.SetUnlinkOnClose(false)
	okay(t, l.Close())
	okay(t, os.Rename(filepath.Join(short, "s"), filepath.Join(dir, "socket")))
	if makeDevice(filepath.Join(dir, "device")) != nil {
		okay(t, unix.Mkfifo(filepath.Join(dir, "device"), 0o600))
	}
}
