//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package file

import (
	"os"

	"github.com/holdfast-dev/holdfast/session"
)

// On other systems the package builds, but Open fails.
const (
	supported = false
	openFlags = 0
)

type fileStamp struct {
	Ino   uint64 `json:"ino"`
	Size  int64  `json:"size"`
	Mtime int64  `json:"mtime_ns"`
}

func statFile(*os.File) (fileStamp, uint64, error) { return fileStamp{}, 0, session.ErrUnsupported }
func statAt(*os.File, string) (fileStamp, error)   { return fileStamp{}, session.ErrUnsupported }
func fdatasync(*os.File) error                     { return session.ErrUnsupported }
