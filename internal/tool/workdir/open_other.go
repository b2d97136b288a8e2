//go:build !linux

package workdir

import (
	"os"
	"syscall"
)

// openPlain opens rel for reading below root.
func openPlain(root *os.Root, rel string) (*os.File, error) {
	return root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
