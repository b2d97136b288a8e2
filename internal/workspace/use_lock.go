package workspace

import (
	"errors"
	"io/fs"
	"os"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// useName is a lock file: all processes that work in a container share its lock. Recreating the container needs
// the exclusive lock.
const useName = "use"

// openPlain opens a file in a folder that only Holdfast writes, and creates it if necessary.
func openPlain(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|nonBlock, 0o600)
	if err != nil {
		return nil, err
	}
	seen, err := dir.Lstat(name)
	if err == nil && !seen.Mode().IsRegular() {
		err = &Error{Op: "open", Path: dir.Name() + "/" + name, Err: ErrNotRegular, Detail: fileTypeText(seen.Mode())}
	}
	if err == nil {
		err = checkSameFile(seen, func() (fs.FileInfo, error) { return f.Stat() })
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockExclusive reports whether the container is unused, and locks it until shareContainer.
func lockExclusive(use *os.File) (bool, error) {
	free, err := diskfile.TryLock(use)
	if errors.Is(err, errors.ErrUnsupported) {
		return true, nil // the supervisor also reports whether processes run
	}
	return free, err
}

// shareContainer takes a shared lock for work in the container.
func shareContainer(use *os.File) error {
	ok, err := diskfile.TryRLock(use)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err == nil && !ok {
		err = errors.New("the container is locked exclusively without the workspace lock")
	}
	return err
}
