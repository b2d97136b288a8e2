//go:build !linux

package diskfile

import (
	"errors"
	"os"
)

func lockByte(*os.File, int64) (bool, error)   { return false, errors.ErrUnsupported }
func unlockByte(*os.File, int64)               {}
func byteLocked(*os.File, int64) (bool, error) { return false, errors.ErrUnsupported }
