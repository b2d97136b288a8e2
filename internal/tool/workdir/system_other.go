//go:build !unix

package workdir

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: on this system the folder determines a new file's owner.
func keepOwner(*os.File, fs.FileInfo) {}

// syncFolder does nothing: folders cannot be synced here, and the file was synced.
func syncFolder(*os.File) error { return nil }
