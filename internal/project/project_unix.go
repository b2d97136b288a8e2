//go:build unix

package project

import (
	"os"
	"syscall"
)

// chownToParent gives a new file to the owner of the folder around it if the process runs as root.
// If that fails, the file still belongs to root.
func chownToParent(f *os.File, around string) {
	if os.Geteuid() != 0 {
		return
	}
	info, err := os.Stat(around)
	if err != nil {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid)) // the id is still valid, but only for root
	}
}
