// Package diskfile has what several packages do with files in the same way: a file that
// is written whole or not at all, and locks among programs.
package diskfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write puts a file (0600) in place at once: after a crash there is what was
// before, or all of it. That the name is on the disk is for the caller to sync.
func Write(path string, data []byte) error { return write(path, data, (*New).Sync) }

// WriteUnsynced is Write of what is made anew when it is missing: after a crash the file may be empty.
func WriteUnsynced(path string, data []byte) error {
	return write(path, data, func(*New) error { return nil })
}

func write(path string, data []byte, sync func(*New) error) error {
	n, err := Begin(filepath.Dir(path), data)
	if err != nil {
		return err
	}
	if err := sync(n); err != nil {
		return errors.Join(err, n.Discard())
	}
	return n.Place(path)
}

// New is a file (0600) that is written and has yet to get its name: [Write] in steps, for
// those who sync several files side by side. It is placed or discarded once.
type New struct{ f *os.File }

// Begin writes a file that is to be placed in a folder.
func Begin(dir string, data []byte) (*New, error) {
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return nil, err
	}
	n := &New{f}
	if _, err := f.Write(data); err != nil {
		return nil, errors.Join(err, n.Discard())
	}
	return n, nil
}

// Sync waits until the content is on the disk.
func (n *New) Sync() error { return n.f.Sync() }

// Place gives the file its name, in place of what has it. A file that cannot be placed is removed.
func (n *New) Place(path string) error {
	err := n.f.Close()
	if err == nil {
		err = os.Rename(n.f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(n.f.Name()))
	}
	return nil
}

// Discard removes the file.
func (n *New) Discard() error { return errors.Join(n.f.Close(), os.Remove(n.f.Name())) }
