//go:build !unix

package instructions

import (
	"os"
	"syscall"
)

const errNotDir = syscall.ENOTDIR

func openWaiting(path string) (*os.File, error) { return os.Open(path) }
