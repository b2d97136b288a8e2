package sandbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const sigFileSize = syscall.SIGXFSZ

// accessible reports whether this process could write to an existing path.
func accessible(p string) bool { return unix.Access(p, unix.W_OK) == nil }
