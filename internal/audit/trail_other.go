//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package audit

import "io/fs"

const (
	openFlags = 0
	private   = false // a folder's mode says nothing here
)

func unlinked(fs.FileInfo) bool { return false }
