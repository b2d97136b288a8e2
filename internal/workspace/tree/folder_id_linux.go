package tree

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// folderID identifies a folder and its mount.
type folderID struct {
	dev, ino uint64
	mount    uint64 // 0 if the kernel does not report it (before 5.8)
}

// sameMount reports whether two folders are on one mount.
func (p folderID) sameMount(o folderID) bool { return p.dev == o.dev && p.mount == o.mount }

func folderIDOf(fd int) (folderID, error) {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_INO|unix.STATX_MNT_ID, &st)
	if err == nil && st.Mask&unix.STATX_MNT_ID != 0 {
		return folderID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, st.Mnt_id}, nil
	}
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return folderID{}, err
	}
	return folderID{s.Dev, s.Ino, 0}, nil
}

// unlock gives the owner of a folder permissions on it. It never follows a link.
func unlock(dir int, name string, mode uint32) error {
	fd, err := openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	return errors.Join(unlockOpen(dir, fd, mode), unix.Close(fd))
}

func unlockOpen(dir, fd int, mode uint32) error {
	above, err := folderIDOf(dir)
	if err != nil {
		return err
	}
	if at, err := folderIDOf(fd); err != nil || !at.sameMount(above) {
		return errors.Join(err, ErrMounted)
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}
