//go:build unix

package project

import (
	"os"
	"syscall"
)

// handOver gives a folder that was just made to whoever owns the one around it, and a
// file likewise, when it is root who made it: or the owner could not even look into what
// is in a folder of theirs. Where that is not possible it stays root's.
func handOver(f *os.File, around string) {
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

// openFolder opens a folder, and no link to one.
func openFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}
