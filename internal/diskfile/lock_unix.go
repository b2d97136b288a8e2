//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package diskfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock locks a file for this open file. It returns false if another open file has the lock. The
// lock ends when [Unlock] is called, when the file is closed, and when the process ends. If the
// system has no locks, the error is [errors.ErrUnsupported].
func TryLock(f *os.File) (bool, error) { return try(f, unix.LOCK_EX) }

// TryRLock takes a shared lock of a file and replaces the lock that this open file has, if
// any. It returns false if another open file has an exclusive lock.
func TryRLock(f *os.File) (bool, error) { return try(f, unix.LOCK_SH) }

func try(f *os.File, how int) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, err
	}
}

// Unlock releases the lock.
func Unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }
