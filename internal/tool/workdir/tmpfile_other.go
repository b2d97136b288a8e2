//go:build !linux

package workdir

import (
	"io/fs"
	"os"
)

// tmpFile is nil: there are no files without a name here.
func tmpFile(*os.Root, string, fs.FileMode) *os.File { return nil }

func link(*os.Root, *os.File, string) error { return errNamed }
