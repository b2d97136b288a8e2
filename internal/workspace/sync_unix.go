//go:build unix

package workspace

import (
	"errors"
	"os"
)

// syncFolder writes the entries of a folder to the disk.
func syncFolder(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
