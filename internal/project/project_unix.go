//go:build unix

package project

import (
	"os"
	"syscall"
)

// chownToParent gives a file that was just made to whoever owns the folder around it, when it is root
// who made it. Where that is not possible it stays root's.
func chownToParent(f *os.File, around string) {
	if os.Geteuid() != 0 {
		return
	}
	info, err := os.Stat(around)
	if err != nil {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid)) // it still has an id, for root
	}
}
