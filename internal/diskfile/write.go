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
func Write(path string, data []byte) error { return write(path, data, (*os.File).Sync) }

// WriteUnsynced is Write of what is made anew when it is missing: after a crash the file may be empty.
func WriteUnsynced(path string, data []byte) error {
	return write(path, data, func(*os.File) error { return nil })
}

func write(path string, data []byte, sync func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, sync(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
