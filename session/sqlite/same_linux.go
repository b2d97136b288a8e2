package sqlite

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// sameFile reports whether a path still leads to a file examined before. It requests only the
// inode: after a request for a file's times, Linux gives the file exact times at its next write,
// and a journal that is checked after each commit would be a sixth slower.
func sameFile(path string, was os.FileInfo) (bool, error) {
	old, ok := was.Sys().(*syscall.Stat_t)
	var now unix.Statx_t
	if !ok || unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &now) == unix.ENOSYS {
		return sameByStat(path, was)
	}
	if now.Mask&unix.STATX_INO == 0 { // missing, or not reported by the file system
		return sameByStat(path, was)
	}
	return now.Ino == old.Ino && unix.Mkdev(now.Dev_major, now.Dev_minor) == old.Dev, nil
}
