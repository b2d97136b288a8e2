//go:build unix

package quarantine

import (
	"fmt"
	"io/fs"
	"syscall"
)

func sysID(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Name()
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
