// Package diskfile contains file operations that several packages share: writing a file
// atomically, and locks between processes.
package diskfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write atomically writes a file (mode 0600): after a crash, the file has either the old or the new
// content. The caller syncs the folder if the name must be durable.
func Write(path string, data []byte) error { return write(path, data, (*PendingFile).Sync) }

// WriteUnsynced does the same as [Write], but without a sync. It is for files that can be
// recreated: after a crash, the file may be empty.
func WriteUnsynced(path string, data []byte) error {
	return write(path, data, func(*PendingFile) error { return nil })
}

func write(path string, data []byte, sync func(*PendingFile) error) error {
	n, err := Begin(filepath.Dir(path), data)
	if err != nil {
		return err
	}
	if err := sync(n); err != nil {
		return errors.Join(err, n.Discard())
	}
	return n.Place(path)
}

// PendingFile is a written file (mode 0600) that does not have its final name yet. It does what
// [Write] does in separate steps, for callers that sync several files in parallel. Call either
// Place or Discard, and only once.
type PendingFile struct{ f *os.File }

// Begin writes a file that will be placed in a folder.
func Begin(dir string, data []byte) (*PendingFile, error) {
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return nil, err
	}
	n := &PendingFile{f}
	if _, err := f.Write(data); err != nil {
		return nil, errors.Join(err, n.Discard())
	}
	return n, nil
}

// Sync waits until the content is durable.
func (n *PendingFile) Sync() error { return n.f.Sync() }

// Place renames the file to path and replaces an existing file. If that fails, the file is
// removed.
func (n *PendingFile) Place(path string) error {
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
func (n *PendingFile) Discard() error { return errors.Join(n.f.Close(), os.Remove(n.f.Name())) }
