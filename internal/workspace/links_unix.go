//go:build unix

package workspace

import (
	"io/fs"
	"syscall"
)

// links returns the number of hard links of a file.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // other systems have another type
	}
	return 0
}
