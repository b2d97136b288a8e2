package sqlite

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// sameFile reports whether a path leads to a file that was looked at before. It asks for
// nothing but the inode: Linux gives a file whose times were asked for exact times with its
// next write, which costs a journal that is asked after each commit a sixth of its speed.
func sameFile(path string, was os.FileInfo) (bool, error) {
	old, ok := was.Sys().(*syscall.Stat_t)
	var now unix.Statx_t
	if !ok || unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &now) == unix.ENOSYS {
		return sameByStat(path, was)
	}
	if now.Mask&unix.STATX_INO == 0 { // it is not there, or the file system does not say
		return sameByStat(path, was)
	}
	return now.Ino == old.Ino && unix.Mkdev(now.Dev_major, now.Dev_minor) == old.Dev, nil
}
