//go:build !linux

package workdir

import (
	"io/fs"
	"os"
)

// tmpFile returns nil: this system has no files without a name.
func tmpFile(*os.Root, string, fs.FileMode) *os.File { return nil }

func link(*os.Root, *os.File, string) error { return errNamed }
