//go:build !unix

package sandbox

import "io/fs"

// links returns 1: the number of hard links is not known here.
func links(fs.FileInfo) uint64 { return 1 }
