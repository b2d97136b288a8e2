// Package realpath makes paths canonical: absolute, without dots and symbolic links. It resolves
// them as a kernel does.
//
//	full, err := realpath.Normalize("~/x/../y", cwd, home)
package realpath

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// MaxLinks is the maximum number of links in one path, as in Linux.
const MaxLinks = 40

// The reasons why a path cannot be resolved. They are wrapped in an error with the path.
var (
	errNUL      = errors.New("it contains a NUL byte")
	errLoop     = errors.New("its symbolic links form a loop")
	errRelative = errors.New("it is relative, but the current folder is not known")
	errHome     = errors.New("it starts with ~, but the home folder is not known")
	errUser     = errors.New("the home folder of another user is not known")
	errProcess  = errors.New("it means something different in each process")
)

// Normalize returns the absolute canonical form of a path: it resolves "~", dots, "//", a trailing "/" and
// symbolic links in every component. ".." applies after links are resolved, as in a kernel; after a missing
// component it removes that component. A component that does not exist, or that this process may not access,
// keeps its name. "" stays "". Normalize is idempotent.
//
// A relative path is relative to cwd, and "~" means home; cwd and home must be absolute. "~name", a
// NUL byte, a loop of links and /proc's links to a process's open files are errors.
func Normalize(path, cwd, home string) (string, error) {
	if path == "" {
		return "", nil
	}
	full, err := Absolute(path, cwd, home)
	if err == nil {
		full, err = Resolve(full)
	}
	if err != nil {
		return "", fmt.Errorf("path '%s': %w", path, err)
	}
	return full, nil
}

// Absolute prepends cwd or home to a path. It does not remove dots.
func Absolute(p, cwd, home string) (string, error) {
	if strings.IndexByte(p, 0) >= 0 {
		return "", errNUL
	}
	switch {
	case p[0] == '/':
		return p, nil
	case p == "~" || strings.HasPrefix(p, "~/"):
		if !path.IsAbs(home) {
			return "", errHome
		}
		return home + p[1:], nil
	case p[0] == '~':
		return "", errUser
	case !path.IsAbs(cwd):
		return "", errRelative
	}
	return cwd + "/" + p, nil
}

// Resolve resolves an absolute path from the root, as a kernel does.
func Resolve(full string) (string, error) {
	if path.Clean(full) == full && noLinks(full) {
		return full, nil
	}
	return walk(full)
}

// walk resolves one component after the other for Resolve.
func walk(full string) (string, error) {
	done := make([]byte, 0, len(full)) // the part that is resolved, in canonical form; "" is the root
	missing := 0                       // number of components at the end that do not exist
	links := 0
	for rest := full; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch part {
		case "", ".":
			continue
		case "..":
			done = done[:max(bytes.LastIndexByte(done, '/'), 0)]
			missing = max(missing-1, 0)
			continue
		}
		parent := len(done)
		done = append(append(done, '/'), part...)
		if missing > 0 {
			missing++
			continue
		}
		target, err := ReadLink(string(done))
		switch {
		case err != nil && absent(err):
			missing = 1
		case err != nil:
			return "", err
		case target != "":
			if links++; links > MaxLinks {
				return "", errLoop
			}
			if path.IsAbs(target) {
				done = done[:0]
			} else {
				done = done[:parent]
			}
			rest = target + "/" + rest
		}
	}
	if len(done) == 0 {
		return "/", nil
	}
	return string(done), nil
}

// ReadLink returns the target of a link, or "" for anything else.
func ReadLink(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", err
	}
	if dependsOnProcess(name) {
		return "", errProcess
	}
	return os.Readlink(name)
}

// dependsOnProcess reports whether a path is a link in /proc whose text is not its target, or whose target
// depends on the process that follows the link.
func dependsOnProcess(name string) bool {
	inner, ok := strings.CutPrefix(name, "/proc/")
	if !ok || strings.IndexByte(inner, '/') < 0 {
		return false
	}
	switch path.Base(name) {
	case "cwd", "exe", "root":
		return true
	}
	switch path.Base(path.Dir(name)) {
	case "fd", "map_files", "ns":
		return true
	}
	return false
}

// absent reports whether a component does not exist or is inaccessible to this process.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
