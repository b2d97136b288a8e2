//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package audit

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from following a link and from leaking into a child process.
const openFlags = unix.O_NOFOLLOW | unix.O_CLOEXEC

// private is true if a folder's mode shows who can write to it on this system.
const private = true

// unlinked reports whether a file no longer has a name.
func unlinked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
