//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package audit

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from following a link and from leaking into a child.
const openFlags = unix.O_NOFOLLOW | unix.O_CLOEXEC

// private says whether a folder's mode tells who can write to it.
const private = true

// tryLock takes the lock of a file unless another open file has it.
func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, err
	}
}

func unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// unlinked reports whether a file has no name any more.
func unlinked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
