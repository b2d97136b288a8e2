package caches

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const pnpmStore = "pnpm-store"

// Stores returns the folders in the user's home whose paths tools write into projects, by their names in the
// caches of a project; the tools then refuse to work with another path. If the user has such a folder,
// commands see the one of the caches in its place.
func Stores(home string) map[string]string {
	if home == "" {
		return nil
	}
	return map[string]string{pnpmStore: filepath.Join(home, ".local", "share", "pnpm", "store")}
}

// makeStores creates the folders for the stores that the user has. It removes a file that a command created
// in such a place, because it could be a link to elsewhere.
func makeStores(root *os.Root, home string) error {
	var errs []error
	for name, store := range Stores(home) {
		if !isDir(store) {
			continue
		}
		if info, err := root.Lstat(name); err == nil && !info.IsDir() {
			errs = append(errs, root.Remove(name))
		}
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
