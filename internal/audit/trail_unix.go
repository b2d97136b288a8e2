//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package audit

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from following a link and from leaking into a child.
const openFlags = unix.O_NOFOLLOW | unix.O_CLOEXEC

// private says whether a folder's mode tells who can write to it.
const private = true

// unlinked reports whether a file has no name any more.
func unlinked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
