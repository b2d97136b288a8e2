//go:build unix

package workdir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives the new file the owner of the old file, if that is permitted.
func keepOwner(out *os.File, before fs.FileInfo) {
	if s, ok := before.Sys().(*syscall.Stat_t); ok && (int(s.Uid) != os.Geteuid() || int(s.Gid) != os.Getegid()) {
		_ = out.Chown(int(s.Uid), int(s.Gid))
	}
}

// syncFolder makes the names in a folder durable, if the file system supports that.
func syncFolder(d *os.File) error {
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
