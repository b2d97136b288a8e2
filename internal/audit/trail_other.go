//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package audit

import "io/fs"

const (
	openFlags = 0
	private   = false // on this system the mode says nothing about a folder
)

func unlinked(fs.FileInfo) bool { return false }
