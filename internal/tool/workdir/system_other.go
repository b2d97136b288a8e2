//go:build !unix

package workdir

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: on this system, the folder determines the owner of a new file.
func keepOwner(*os.File, fs.FileInfo) {}

// syncFolder does nothing: folders cannot be synced on this system, and the file has already been
// synced.
func syncFolder(*os.File) error { return nil }
