package diskfile

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// The locks belong to open files (open file description locks), not to a thread or process. If
// another descriptor of the file is closed, they remain.

func lockByte(f *os.File, at int64) (bool, error) {
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, byteAt(unix.F_WRLCK, at))
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, noLocks(err)
}

func unlockByte(f *os.File, at int64) {
	_ = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, byteAt(unix.F_UNLCK, at))
}

// byteLocked reports whether a byte is locked through another open file than f.
func byteLocked(f *os.File, at int64) (bool, error) {
	l := byteAt(unix.F_WRLCK, at)
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, l)
	return l.Type != unix.F_UNLCK, noLocks(err)
}

func byteAt(kind int16, at int64) *unix.Flock_t {
	return &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: at, Len: 1}
}

// noLocks returns ErrUnsupported for the error of a file system or kernel without such locks.
func noLocks(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return errors.ErrUnsupported
	}
	return err
}
