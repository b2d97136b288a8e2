//go:build !linux

package cli

import (
	"errors"
	"os"
)

// singleKeys reports whether a terminal can give keys without Enter here.
const singleKeys = false

func rawKeys(*os.File) (restore func(), err error) { return nil, errors.ErrUnsupported }

func flushInput(*os.File) {}
