//go:build unix && !linux

package tree

import (
	"errors"

	"golang.org/x/sys/unix"
)

// place identifies a folder.
type place struct{ dev, ino uint64 }

// sameMount reports whether two folders are on one file system.
func (p place) sameMount(o place) bool { return p.dev == o.dev }

func placeOf(fd int) (place, error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return place{}, err
	}
	return place{uint64(s.Dev), uint64(s.Ino)}, nil
}

// unlock gives the owner of a folder permissions on it. It does not follow links.
func unlock(dir int, name string, mode uint32) error {
	above, err := placeOf(dir)
	if err != nil {
		return err
	}
	if st, err := lstat(dir, name); err != nil || uint64(st.Dev) != above.dev {
		return errors.Join(err, ErrMounted)
	}
	return unix.Fchmodat(dir, name, mode, unix.AT_SYMLINK_NOFOLLOW)
}
