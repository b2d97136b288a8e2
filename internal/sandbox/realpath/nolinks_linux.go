package realpath

import (
	"errors"

	"golang.org/x/sys/unix"
)

// noLinks reports whether no component of a clean path is a symbolic link. It checks up to the
// first component that does not exist or that this process may not enter. It needs one system call;
// if that call fails for another reason, it returns false.
func noLinks(full string) bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, full, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == nil {
		_ = unix.Close(fd)
		return true
	}
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES)
}
