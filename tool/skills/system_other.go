//go:build !unix

package skills

import (
	"os"
	"syscall"
)

const (
	notDir = syscall.ENOTDIR
	noWait = 0
)

func openWaiting(name string) (*os.File, error) { return os.Open(name) }
