package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
)

// Where a project keeps its settings, and what makes a folder one.
const (
	projectDir  = ".holdfast"
	projectFile = "settings.json"
	localFile   = "settings.local.json"
)

// FindProject returns the folder whose settings apply in dir: the nearest one, dir
// or above, that has settings of its own or a .git; else dir. home is
// HOLDFAST_HOME, which is no project's. The path comes out without links.
func FindProject(dir, home string) (string, error) {
	dir, err := canonical(dir)
	if err != nil {
		return "", err
	}
	if home, err = canonical(home); err != nil {
		home = ""
	}
	for at := dir; ; at = filepath.Dir(at) {
		own := filepath.Join(at, projectDir)
		names := []string{filepath.Join(at, ".git")}
		if own != home {
			names = append(names, filepath.Join(own, projectFile), filepath.Join(own, localFile))
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

// canonical makes a folder's path absolute and takes its links away.
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

// exists reports whether there is something of that name, if only a link to nowhere.
func exists(name string) (bool, error) {
	if kernel.IsPlaceholder(name) { // of a sandbox in which a command runs, or that was killed
		return false, nil
	}
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}
