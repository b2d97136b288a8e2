package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// tmpFile creates a file without a name in a folder, so that nothing remains if this process is killed.
// The file is nil if the file system has no such files.
func tmpFile(root *os.Root, dir string, perm fs.FileMode) *os.File {
	d, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	fd, err := unix.Openat(int(d.Fd()), ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, uint32(perm))
	if err != nil {
		return nil // not every file system supports such files, and the errors differ
	}
	return os.NewFile(uintptr(fd), path.Join(dir, "."))
}

// link gives the file an unused name in the folder in which the file was created.
func link(root *os.Root, f *os.File, rel string) error {
	d, err := root.Open(path.Dir(rel))
	if err != nil {
		return errors.Join(errNamed, err)
	}
	defer d.Close()
	err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), int(d.Fd()), path.Base(rel), unix.AT_SYMLINK_FOLLOW)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return errors.Join(errNamed, err)
	}
	return err
}
