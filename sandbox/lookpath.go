package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// lookPath finds the program of a command. If the name has a slash, it is relative to dir;
// otherwise it is looked up in the PATH of env. Relative folders in PATH are skipped, as in
// exec.LookPath.
func lookPath(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	found := exec.ErrNotFound
	for _, folder := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			continue
		}
		file := filepath.Join(folder, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			found = fs.ErrPermission
		}
	}
	return "", &exec.Error{Name: name, Err: found}
}

// executable returns the reason why a file cannot be executed, or nil if it can.
func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "execute", Path: file, Err: errors.New("is a folder")}
	case info.Mode()&0o111 == 0:
		return &fs.PathError{Op: "execute", Path: file, Err: fs.ErrPermission}
	}
	return nil
}

// variable returns the value of a variable, the last one if there are several.
func variable(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
