package caches

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const pnpmStore = "pnpm-store"

// Stores are the folders in a person's home whose paths tools write into projects, and refuse to work
// with another, by the names that the caches of a project have for them. Where the person has one, commands
// see theirs in its place.
func Stores(home string) map[string]string {
	if home == "" {
		return nil
	}
	return map[string]string{pnpmStore: filepath.Join(home, ".local", "share", "pnpm", "store")}
}

// makeStores makes the folders for the stores that the person has. What a command has put in such a place
// is removed: it could lead elsewhere.
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
