package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
)

// Files and folders of a project.
const (
	projectDir  = ".holdfast"
	projectFile = "settings.json"
	localFile   = "settings.local.json"
)

// FindProject returns the folder whose settings apply in dir: dir or the nearest parent that has
// settings or a .git; else dir. home is HOLDFAST_HOME, which is not a project. The result has no
// links.
func FindProject(dir, home string) (string, error) {
	dir, err := canonical(dir)
	if err != nil {
		return "", err
	}
	if home, err = canonical(home); err != nil {
		home = ""
	}
	for at := dir; ; at = filepath.Dir(at) {
		folder := filepath.Join(at, projectDir)
		names := []string{filepath.Join(at, ".git")}
		if folder != home {
			names = append(names, filepath.Join(folder, projectFile), filepath.Join(folder, localFile))
		}
		for _, name := range names {
			if there, err := exists(name); err != nil || there {
				return at, err
			}
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}

// canonical makes a folder's path absolute and resolves its links.
func canonical(dir string) (string, error) {
	if dir == "" {
		return "", fs.ErrNotExist
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// exists reports whether the name exists, even as a dangling link.
func exists(name string) (bool, error) {
	if kernel.IsPlaceholder(name) { // of a running or killed sandbox
		return false, nil
	}
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}
