package quarantine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxDepth is the maximum depth to which a folder is copied.
const maxDepth = 64

// Move moves a file or folder out of an open folder; dir is the descriptor of that folder. A
// program that has the file open can still write to it.
//
// On another file system it is copied: each name is removed first and its content is read from the
// open file, so that no program can find the name. Devices, pipes and sockets are not copied; only
// their name is removed.
func (f Folder) Move(dir int, path string) (*Item, error) {
	i, err := f.newItem(path)
	if err != nil {
		return nil, err
	}
	to, err := unix.Open(filepath.Join(string(f), i.ID), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(to)
	name := filepath.Base(path)
	err = unix.Renameat(dir, name, to, name)
	if errors.Is(err, unix.EACCES) { // a folder that is not writable cannot be moved to another parent
		if unix.Fchmodat(dir, name, 0o700, unix.AT_SYMLINK_NOFOLLOW) == nil {
			err = unix.Renameat(dir, name, to, name)
		}
	}
	if errors.Is(err, unix.EXDEV) {
		err = moveCopy(dir, to, name, maxDepth)
	}
	if err == nil {
		err = f.write(i)
	}
	if err != nil {
		if unix.Rmdir(filepath.Join(string(f), i.ID)) != nil { // a part was moved
			_ = f.write(i)
		}
		return nil, fmt.Errorf("move %s to %s: %w", path, f, err)
	}
	return i, nil
}

// moveCopy moves a name from one open folder to another by copying it.
func moveCopy(from, to int, name string, depth int) error {
	if depth == 0 {
		return unix.ELOOP
	}
	var st unix.Stat_t
	if err := unix.Fstatat(from, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return takeFolder(from, to, name, depth)
	case unix.S_IFREG:
		return takeFile(from, to, name)
	case unix.S_IFLNK:
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(from, name, target)
		if err == nil {
			err = unix.Unlinkat(from, name, 0)
		}
		if err != nil {
			return err
		}
		return unix.Symlinkat(string(target[:n]), to, name)
	}
	return unix.Unlinkat(from, name, 0)
}

func takeFile(from, to int, name string) error {
	const flags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(from, name, unix.O_RDONLY|flags, 0)
	if errors.Is(err, unix.EACCES) && unix.Fchmodat(from, name, 0o600, unix.AT_SYMLINK_NOFOLLOW) == nil {
		fd, err = unix.Openat(from, name, unix.O_RDONLY|flags, 0)
	}
	if err != nil {
		return errors.Join(err, unix.Unlinkat(from, name, 0))
	}
	in := os.NewFile(uintptr(fd), name)
	defer in.Close()
	if err := unix.Unlinkat(from, name, 0); err != nil {
		return err
	}
	if fd, err = unix.Openat(to, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|flags, 0o600); err != nil {
		return err
	}
	out := os.NewFile(uintptr(fd), name)
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// takeFolder repeats until the folder is empty: files may be added to it meanwhile.
func takeFolder(from, to int, name string, depth int) error {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(from, name, flags, 0)
	if errors.Is(err, unix.EACCES) && unix.Fchmodat(from, name, 0o700, unix.AT_SYMLINK_NOFOLLOW) == nil {
		fd, err = unix.Openat(from, name, flags, 0)
	}
	if err != nil {
		return err
	}
	folder := os.NewFile(uintptr(fd), name)
	defer folder.Close()
	if err := unix.Fchmod(fd, 0o700); err != nil {
		return err
	}
	if err := unix.Mkdirat(to, name, 0o700); err != nil {
		return err
	}
	inner, err := unix.Openat(to, name, flags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(inner)
	for range 100 {
		if _, err := folder.Seek(0, io.SeekStart); err != nil {
			return err
		}
		names, err := folder.Readdirnames(-1)
		if err != nil {
			return err
		}
		for _, n := range names {
			err := moveCopy(fd, inner, n, depth-1)
			if errors.Is(err, unix.EEXIST) { // the folder was created again; the first one is kept
				err = nil
			}
			if err != nil && !errors.Is(err, unix.ENOENT) {
				return err
			}
		}
		if err = unix.Unlinkat(from, name, unix.AT_REMOVEDIR); !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
	}
	return unix.ENOTEMPTY
}
