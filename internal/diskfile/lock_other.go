//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package diskfile

import (
	"errors"
	"os"
)

// TryLock is not supported on this system.
func TryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

// TryRLock is not supported on this system.
func TryRLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

// Unlock does nothing on this system.
func Unlock(*os.File) {}
