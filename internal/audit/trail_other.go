//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package audit

import "io/fs"

const (
	openFlags = 0
	private   = false // on this system the mode does not show who can write to a folder
)

func unlinked(fs.FileInfo) bool { return false }
