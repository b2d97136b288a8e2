//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package audit

import (
	"io/fs"
	"os"

	"github.com/holdfast-dev/holdfast/session"
)

// Elsewhere the package builds, and a trail cannot be opened.
const (
	openFlags = 0
	private   = false
)

func tryLock(*os.File) (bool, error) { return false, session.ErrUnsupported }
func unlock(*os.File)                {}
func unlinked(fs.FileInfo) bool      { return false }
