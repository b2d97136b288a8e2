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

// ScratchDir is a folder that one process uses for as long as it lives.
//
//	parent/prefix1234   locked (shared) by the process that made it
//	parent/prefix5678   not locked: its process was killed; the next OpenScratch removes it
//
// Where the system has no locks for folders, or the folder's disk has none, what a
// process that was killed leaves stays.
type ScratchDir struct {
	Path string // absolute, when the parent is

	lock   *os.File // nil where there are no locks
	remove func(string) error
	swept  sync.WaitGroup
}

var (
	// errRemoved: somebody who sweeps had the folder before it was locked.
	errRemoved = errors.New("the new folder was removed as unused")
	// errNoLock: this disk or system does not lock folders.
	errNoLock = errors.New("no locks for folders")
)

// OpenScratch makes a folder (0700) in parent, or in the system's folder for temporary
// files when that is "". Folders of this user with this prefix that no living process
// uses are removed meanwhile; Close waits for it. Remove is what removes one: [os.RemoveAll],
// or [os.Remove] where a folder that holds something is to stay.
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
		case err == nil, errors.Is(err, errNoLock): // what cannot be locked cannot be swept either
			s.swept.Go(func() { sweep(parent, prefix, remove) }) // there may be thousands of names in parent
			return s, nil
		case !errors.Is(err, errRemoved):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), os.Remove(path))
		}
	}
	return nil, fmt.Errorf("folder in %s: %w", parent, err)
}

// Close removes the folder and gives its lock back.
func (s *ScratchDir) Close() error {
	s.swept.Wait()
	err := s.remove(s.Path)
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// sweep removes what no living process uses. What cannot be removed stays for the next time.
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

// lockFolder opens a folder of this user and locks it, unless somebody else has, or it
// is gone.
func lockFolder(path string, try func(*os.File) (bool, error)) (*os.File, error) {
	named, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(errRemoved, err)
	}
	if !named.IsDir() || !mine(named) {
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

// IsSameFile reports whether an open folder is the one of that name: it may have been removed,
// and made again.
func IsSameFile(f *os.File, path string) bool {
	was, err := f.Stat()
	if err != nil {
		return false
	}
	is, err := os.Lstat(path)
	return err == nil && os.SameFile(was, is)
}
