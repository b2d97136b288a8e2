package workspace

import (
	"errors"
	"io/fs"
	"os"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// useName is a file whose lock is shared by those who work in a container. Who makes
// the container anew has it alone for that time.
const useName = "use"

// openPlain opens a file of ours in a folder of ours, and makes it where there is none.
func openPlain(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|nonBlock, 0o600)
	if err != nil {
		return nil, err
	}
	seen, err := dir.Lstat(name)
	if err == nil && !seen.Mode().IsRegular() {
		err = &Error{Op: "open", Path: dir.Name() + "/" + name, Err: ErrNotRegular, Detail: what(seen.Mode())}
	}
	if err == nil {
		err = same(seen, func() (fs.FileInfo, error) { return f.Stat() })
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockExclusive reports whether nobody else works in the container, and keeps it so until
// share.
func lockExclusive(use *os.File) (bool, error) {
	free, err := diskfile.TryLock(use)
	if errors.Is(err, errors.ErrUnsupported) {
		return true, nil // the supervisor still tells what runs
	}
	return free, err
}

// shareContainer says that somebody works in the container.
func shareContainer(use *os.File) error {
	ok, err := diskfile.TryRLock(use)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err == nil && !ok {
		err = errors.New("somebody has the container alone without the workspace's lock")
	}
	return err
}
