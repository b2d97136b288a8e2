package caches

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const pnpmStore = "pnpm-store"

// Stores returns folders in the user's home whose paths tools write into projects. Such a tool then
// refuses to work with another path. If the user has such a folder, commands see in its place the
// folder from the caches. The keys are the names of the folders in the caches of a project.
func Stores(home string) map[string]string {
	if home == "" {
		return nil
	}
	return map[string]string{pnpmStore: filepath.Join(home, ".local", "share", "pnpm", "store")}
}

// makeStores creates the folders for the stores that the user has. If a command has created a file
// in such a place, it removes that file, because the file could be a link to another place.
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
