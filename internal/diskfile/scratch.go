package diskfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// ScratchDir is a folder that one process uses until it ends.
//
//	parent/prefix1234   locked (shared) by the process that made it
//	parent/prefix5678   not locked: its process was killed; the next OpenScratch removes it
//
// If the system or the disk cannot lock folders, the folder of a killed process is not
// removed.
type ScratchDir struct {
	Path string // absolute if the parent folder is absolute

	lock   *os.File // nil without locks
	remove func(string) error
	swept  sync.WaitGroup
}

var (
	// errRemoved means that the folder looked unused, and another process removed it before it was
	// locked.
	errRemoved = errors.New("the new folder was removed as unused")
	// errNoLock means that this disk or system cannot lock folders.
	errNoLock = errors.New("folders cannot be locked here")
)

// OpenScratch makes a folder (0700) in parent, or in the system's temporary folder if parent is "".
// In the background, it removes other folders of this user with this prefix whose process has
// ended. Close waits until that is done. remove is the function that removes one folder:
// [os.RemoveAll], or [os.Remove] to keep folders that are not empty.
func OpenScratch(parent, prefix string, remove func(path string) error) (*ScratchDir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	err := errRemoved
	for range 10 {
		var path string
		if path, err = os.MkdirTemp(parent, prefix); err != nil {
			return nil, err
		}
		s := &ScratchDir{Path: path, remove: remove}
		s.lock, err = lockFolder(path, TryRLock)
		switch {
		case err == nil, errors.Is(err, errNoLock): // other processes cannot lock it either, and therefore do not remove it
			s.swept.Go(func() { sweep(parent, prefix, remove) }) // parent may contain thousands of names
			return s, nil
		case !errors.Is(err, errRemoved):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), os.Remove(path))
		}
	}
	return nil, fmt.Errorf("folder in %s: %w", parent, err)
}

// Close removes the folder and releases its lock.
func (s *ScratchDir) Close() error {
	s.swept.Wait()
	err := s.remove(s.Path)
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// sweep removes folders whose process has ended. Folders that cannot be removed are left for the
// next sweep.
func sweep(parent, prefix string, remove func(string) error) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		if lock, err := lockFolder(path, TryLock); err == nil {
			_ = remove(path)
			_ = lock.Close()
		}
	}
}

// lockFolder opens and locks a folder of this user. It fails if another process has locked the
// folder, or if the folder no longer exists.
func lockFolder(path string, try func(*os.File) (bool, error)) (*os.File, error) {
	named, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(errRemoved, err)
	}
	if !named.IsDir() || !isOwnedByUser(named) {
		return nil, errNoLock
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(errRemoved, err)
	}
	if err != nil {
		return nil, err
	}
	ok, err := try(f)
	switch {
	case err != nil:
		err = errors.Join(errNoLock, err)
	case !ok || !IsSameFile(f, path):
		err = errRemoved
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// IsSameFile reports whether an open folder is still the folder at path. The folder at path may
// have been removed and recreated.
func IsSameFile(f *os.File, path string) bool {
	was, err := f.Stat()
	if err != nil {
		return false
	}
	is, err := os.Lstat(path)
	return err == nil && os.SameFile(was, is)
}
