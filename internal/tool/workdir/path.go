package workdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// Path is a path inside a folder, returned by [Folders.Locate]. No part of Rel was a link when the
// path was located. Files are opened through Root, so that a link created since then cannot lead
// outside. A hard link is treated like any other file, because it is not visible that its content
// also has a name outside.
type Path struct {
	Root *os.Root
	Rel  string // relative to Root, with slashes; "." for the root itself
	Abs  string // canonical: absolute and without links; this path is what policies check

	// Named is the absolute path that was given, if links inside the folder led from there to Abs;
	// otherwise "". Policies for the link apply as well.
	Named string

	unseal *unsealer // decrypts the folder's files; nil if they are not sealed
}

// maxLinks is the maximum number of links in one path, as in the kernel.
const maxLinks = 40

// Stat describes what exists at the path, without following a link.
func (p Path) Stat() (fs.FileInfo, error) {
	info, err := p.Root.Lstat(p.Rel)
	if err != nil {
		return nil, &PathError{Path: p.Abs, Err: bareError(err)}
	}
	return info, nil
}

// Open opens a regular file for reading and describes it. It refuses directories, links, FIFOs, sockets
// and devices without blocking.
func (p Path) Open() (*os.File, fs.FileInfo, error) {
	before, err := p.Stat()
	if err != nil {
		return nil, nil, err
	}
	if err := Regular(before); err != nil {
		return nil, nil, &PathError{Path: p.Abs, Err: err}
	}
	f, err := openPlain(p.Root, p.Rel)
	if err != nil {
		return nil, nil, &PathError{Path: p.Abs, Err: bareError(err)}
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !os.SameFile(before, info):
		err = errors.New("changed while it was opened")
	default:
		err = Regular(info)
	}
	if err != nil {
		return nil, nil, errors.Join(&PathError{Path: p.Abs, Err: err}, f.Close())
	}
	if p.unseal != nil {
		return p.unsealed(f, info)
	}
	return f, info, nil
}

// maxSealed is the maximum size of a sealed file that is read into memory.
const maxSealed = 256 << 20

// unsealed returns a file in memory with the text of a sealed file, or the file itself.
func (p Path) unsealed(f *os.File, info fs.FileInfo) (*os.File, fs.FileInfo, error) {
	text, plain, err := p.readSealed(f)
	if err == nil && plain {
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			return f, info, nil
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, &PathError{Path: p.Abs, Err: err}
	}
	m, err := diskfile.MemFile(filepath.Base(p.Abs), text)
	if err != nil {
		return nil, nil, &PathError{Path: p.Abs, Err: err}
	}
	if info, err = m.Stat(); err != nil {
		return nil, nil, errors.Join(&PathError{Path: p.Abs, Err: err}, m.Close())
	}
	return m, info, nil
}

func (p Path) readSealed(f *os.File) (text []byte, plain bool, err error) {
	content, err := io.ReadAll(io.LimitReader(f, maxSealed+1))
	if err != nil || len(content) > maxSealed || len(content) == 0 {
		return nil, err == nil, err
	}
	if text, err = p.unseal.open(p.Abs, content); err != nil {
		return nil, false, err
	}
	return text, len(text) > 0 && &text[0] == &content[0], nil
}

// Regular returns nil for a regular file, and otherwise an error that says what it is.
func Regular(info fs.FileInfo) error {
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return errors.New("is a directory")
	case m&fs.ModeSymlink != 0:
		return errors.New("is a symbolic link")
	case m&fs.ModeNamedPipe != 0:
		return errors.New("is a named pipe, not a regular file")
	case m&fs.ModeSocket != 0:
		return errors.New("is a socket, not a regular file")
	}
	return errors.New("is a device, not a regular file")
}

// resolveLinks follows the links of a relative path inside root and returns the path without them. Parts of
// the path that do not exist are kept unchanged.
func resolveLinks(root *os.Root, rel string) (string, error) {
	todo := strings.Split(rel, "/")
	var done []string
	links := 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..": // only links contain these
			if len(done) == 0 {
				return "", fmt.Errorf("%w: a symbolic link leads out", ErrOutside)
			}
			done = done[:len(done)-1]
			continue
		}
		here := strings.Join(append(slices.Clip(done), name), "/")
		info, err := root.Lstat(here)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if slices.Contains(todo, "..") {
				return "", fs.ErrNotExist
			}
			return filepath.Join(here, filepath.Join(todo...)), nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			done = append(done, name)
			continue
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		target, err := root.Readlink(here)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			return "", fmt.Errorf("%w: a symbolic link in the path is absolute", ErrOutside)
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return strings.Join(done, "/"), nil
}
