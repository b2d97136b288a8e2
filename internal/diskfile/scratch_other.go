//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package diskfile

import "io/fs"

// isOwnedByUser returns false: the owner is not known on this system.
func isOwnedByUser(fs.FileInfo) bool { return false }
