//go:build !unix

package mcp

import "io/fs"

// private cannot check the mode here: the folder belongs to the user.
func private(fs.FileInfo) bool { return true }
