package instructions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/internal/yamltree"
)

// readOptions says why a file is read, and how.
type readOptions struct {
	free    bool // true for a file of the user or a managed file: its links and includes may lead anywhere
	reason  Reason
	parent  string
	trigger string
	globs   []string
	depth   int
	named   bool // named explicitly: a missing file is reported
	rule    bool // true if the front matter is removed
}

// read reads a file and its includes, and reports whether it exists and is usable.
func (s *Set) read(m Level, at readOptions, path string) bool {
	if s.tried[path] {
		return true
	}
	if m != Managed && s.excluded(path) {
		return false
	}
	b, info, err := s.open(at, path)
	if isMissing(err) {
		if at.named {
			s.notice("%s: file %s not found", at.parent, path)
		}
		return false
	}
	if err != nil && isPlaceholder(path) {
		return false
	}
	s.tried[path] = true
	if err != nil {
		s.notice("%s is left out: %v", path, err)
		return false
	}
	if slices.ContainsFunc(s.seen, func(i os.FileInfo) bool { return os.SameFile(i, info) }) {
		return true // read under another name
	}
	s.seen = append(s.seen, info)
	f := File{Path: path, Memory: m, Reason: at.reason, Parent: at.parent, Trigger: at.trigger, Globs: at.globs, Size: int(info.Size())}
	if f.Reason == "" {
		f.Reason = atStart
	}
	if why := notText(b); why != "" {
		s.notice("%s is left out: %s", path, why)
		return false
	}
	f.Truncated = f.Size > len(b)
	if at.rule {
		if t, err := yamltree.Split(b); err == nil {
			b = []byte(t.Body)
		}
	}
	s.add(f, b)
	s.readIncludes(m, at, path, b)
	return true
}

// full reports whether a limit is reached.
func (s *Set) full() bool { return len(s.files) >= maxFiles || s.size >= maxTotal }

// add adds a file, up to the limits.
func (s *Set) add(f File, b []byte) {
	room := maxTotal - s.size
	switch {
	case len(bytes.TrimSpace(b)) == 0:
		return
	case s.full():
		s.notice("%s is left out: instructions exceed %d KiB or %d files", f.Path, maxTotal>>10, maxFiles)
		return
	case len(b) > room:
		f.Truncated = true
		b = trimPartial(b[:room])
	}
	if f.Truncated {
		s.notice("%s is cut: only the first %d of its %d bytes are read", f.Path, len(b), f.Size)
	}
	f.Text = string(b)
	s.size += len(b)
	s.files = append(s.files, f)
}

// trimPartial shortens a text that was cut, so that it ends with a complete line or character.
func trimPartial(b []byte) []byte {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return b[:i+1]
	}
	for len(b) > 0 && !utf8.Valid(b) {
		b = b[:len(b)-1]
	}
	return b
}

func (s *Set) excluded(path string) bool {
	return slices.ContainsFunc(s.o.Excludes, func(g string) bool {
		ok, err := doublestar.PathMatch(g, path)
		return ok && err == nil
	})
}

// open reads a file, up to slightly more than its limit.
func (s *Set) open(at readOptions, path string) ([]byte, fs.FileInfo, error) {
	var f *os.File
	var info fs.FileInfo
	var err error
	actual := path
	if at.free {
		f, info, err = openFree(path)
	} else {
		var p workdir.Path
		if p, err = s.folders.Locate(path); err == nil {
			actual = p.Abs
			f, info, err = p.Open()
		}
	}
	if e, ok := errors.AsType[*workdir.PathError](err); ok {
		err = e.Err
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if s.o.Denied != nil {
		for _, name := range slices.Compact([]string{path, actual}) {
			if why := s.o.Denied(name); why != "" {
				return nil, nil, errors.New(why)
			}
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		b = trimPartial(b[:maxFile])
	}
	return b, info, err
}

// openFree opens a regular file of the user or the administrator.
func openFree(path string) (*os.File, fs.FileInfo, error) {
	before, err := os.Stat(path)
	if err == nil {
		err = workdir.Regular(before)
	}
	if err != nil {
		return nil, nil, err
	}
	if before.Mode().Perm()&0o002 != 0 {
		return nil, nil, errors.New("it is world-writable; hint: chmod o-w")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not block
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = workdir.Regular(info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// isPlaceholder reports whether the path is only a placeholder of a sandbox, so that there is no
// file.
func isPlaceholder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode() == os.ModeSocket
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func notText(b []byte) string {
	switch {
	case bytes.IndexByte(b, 0) >= 0:
		return "it is not text: it contains a NUL byte"
	case !utf8.Valid(b):
		return "it is not text: it is not UTF-8"
	}
	return ""
}

// resolve makes the path of an include absolute.
func (s *Set) resolve(from, name string) (string, error) {
	switch {
	case name == "~" || len(name) > 1 && name[0] == '~' && name[1] == '/':
		if s.o.User == "" {
			return "", fmt.Errorf("cannot expand %s: no home folder", name)
		}
		return filepath.Join(s.o.User, name[1:]), nil
	case filepath.IsAbs(name):
		return filepath.Clean(name), nil
	}
	return filepath.Join(filepath.Dir(from), name), nil
}
