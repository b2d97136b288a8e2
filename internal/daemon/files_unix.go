//go:build unix

package daemon

import (
	"syscall"
)

// openFiles returns the maximum number of open files of this process.
func openFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1024
	}
	return int(min(uint64(l.Cur), 1<<20)) //nolint:unconvert // signed on some systems
}
