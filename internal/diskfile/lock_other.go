//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package diskfile

import (
	"errors"
	"os"
)

// TryLock is not possible here.
func TryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

// TryShare is not possible here.
func TryShare(*os.File) (bool, error) { return false, errors.ErrUnsupported }

// Unlock does nothing here.
func Unlock(*os.File) {}
