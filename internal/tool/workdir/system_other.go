//go:build !unix

package workdir

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: a new file here has the owner that its folder says.
func keepOwner(*os.File, fs.FileInfo) {}

// syncFolder does nothing: a folder here cannot be synced, the file was.
func syncFolder(*os.File) error { return nil }
