package sandbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const sigFileSize = syscall.SIGXFSZ

// accessible reports whether we could write to what is there.
func accessible(p string) bool { return unix.Access(p, unix.W_OK) == nil }
