//go:build !linux

package folder

import (
	"io/fs"
	"os"
)

// nameless is nil: there are no files without a name here.
func nameless(*os.Root, string, fs.FileMode) *os.File { return nil }

func link(*os.Root, *os.File, string) error { return errNamed }
