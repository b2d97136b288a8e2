//go:build unix && !linux

package tree

import (
	"errors"

	"golang.org/x/sys/unix"
)

// folderID identifies a folder.
type folderID struct{ dev, ino uint64 }

// sameMount reports whether two folders are on one file system.
func (p folderID) sameMount(o folderID) bool { return p.dev == o.dev }

func folderIDOf(fd int) (folderID, error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return folderID{}, err
	}
	return folderID{uint64(s.Dev), uint64(s.Ino)}, nil
}

// unlock gives the owner of a folder permissions on it. It does not follow links.
func unlock(dir int, name string, mode uint32) error {
	above, err := folderIDOf(dir)
	if err != nil {
		return err
	}
	if st, err := lstat(dir, name); err != nil || uint64(st.Dev) != above.dev {
		return errors.Join(err, ErrMounted)
	}
	return unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
}
