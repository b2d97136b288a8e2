//go:build !linux

package term

import (
	"errors"
	"os"
)

// singleKeys reports whether a terminal can deliver keys without Enter on this system.
const singleKeys = false

func rawKeys(*os.File) (restore func(), err error) { return nil, errors.ErrUnsupported }

func flushInput(*os.File) {}

func continued() (resumed <-chan os.Signal, done func()) { return nil, func() {} }
