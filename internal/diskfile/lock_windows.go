package diskfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// TryLock locks a file; it returns false if another open file has the lock.
func TryLock(f *os.File) (bool, error) { return try(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// TryRLock takes a shared lock of a file and replaces the lock that this open file has, if
// any. It returns false if another open file has an exclusive lock.
func TryRLock(f *os.File) (bool, error) {
	Unlock(f) // a second lock of the same file would be added to the first one
	return try(f, 0)
}

func try(f *os.File, how uint32) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the lock.
func Unlock(f *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{})
}
