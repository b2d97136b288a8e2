//go:build unix

package instructions

import (
	"os"
	"syscall"
)

const errNotDir = syscall.ENOTDIR

// openWaiting opens a file without waiting for whoever holds the other end of a pipe.
func openWaiting(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
