//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package diskfile

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwnedByUser reports whether a file belongs to this user.
func isOwnedByUser(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
