//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package diskfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes the lock of a file for this open file, and reports false when
// another one has it. The lock ends with [Unlock], when the file is closed, and with
// the process. Where the system has none, the error is [errors.ErrUnsupported].
func TryLock(f *os.File) (bool, error) { return try(f, unix.LOCK_EX) }

// TryRLock takes the lock of a file together with others who share it, in place of what
// this open file has of it, and reports false when somebody has it alone.
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

// Unlock gives the lock back.
func Unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }
