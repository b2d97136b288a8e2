package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// tmpFile makes a file without a name in a folder: nothing is left of it when this
// process is killed. The file is nil where there are none.
func tmpFile(root *os.Root, dir string, perm fs.FileMode) *os.File {
	d, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	fd, err := unix.Openat(int(d.Fd()), ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, uint32(perm))
	if err != nil {
		return nil // not every file system has them, and each says it in its own way
	}
	return os.NewFile(uintptr(fd), path.Join(dir, "."))
}

// link gives it a name that nothing has, in the folder in which it was made.
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
