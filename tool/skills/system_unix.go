//go:build unix

package skills

import (
	"os"
	"syscall"
)

const (
	notDir = syscall.ENOTDIR
	noWait = syscall.O_NONBLOCK // a pipe must not hold us
)

func openWaiting(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|noWait, 0) }
