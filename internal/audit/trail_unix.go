//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package audit

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags make sure that open follows no symbolic link, and that no child process inherits the
// file.
const openFlags = unix.O_NOFOLLOW | unix.O_CLOEXEC

// private is true if, on this system, the mode of a folder shows who can write to it.
const private = true

// unlinked reports whether a file no longer has a name.
func unlinked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
