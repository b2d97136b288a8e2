//go:build !unix

package mcp

import "io/fs"

// private cannot be told from the mode here: the folder is the person's.
func private(fs.FileInfo) bool { return true }
