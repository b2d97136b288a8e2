package search

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
)

// errStop ends a walk early, without an error.
var errStop = errors.New("stop")

// file is a regular file found by a walk. It is valid only during the visit.
type file struct {
	dir  *os.Root // its folder
	name string
	rel  string // path below the start of the walk
	abs  string
	info fs.FileInfo
}

// open opens the file, unless it is no longer the file that the walk found.
func (f file) open() (*os.File, error) {
	in, err := f.dir.OpenFile(f.name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if now, err := in.Stat(); err != nil || !os.SameFile(now, f.info) {
		return nil, errors.Join(errors.New("changed while it was opened"), err, in.Close())
	}
	return in, nil
}

// walker walks the files below a path in the order of their paths. It skips hidden folders, node_modules,
// links to folders and files that .gitignore ignores. Unreadable folders are skipped and counted.
type walker struct {
	ctx     context.Context
	hide    func(abs string) bool
	visit   func(file) error
	base    workdir.Path // start of the walk
	noLinks bool         // also skip links to files
	skipped int          // number of folders that could not be read
}

func (w *walker) walk() error {
	dir, err := w.base.Root.OpenRoot(w.base.Rel)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = w.enter(dir, w.base.Rel, ignoreAbove(w.base))
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// enter visits the files of one folder. rel is the folder's path, relative to w.base.Root.
func (w *walker) enter(dir *os.Root, rel string, ig *ignore) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(dir.FS(), ".") // sorted by name
	if err != nil {
		w.skipped++
		return nil // counted, and the walk continues
	}
	ig = readIgnore(dir, rel, ig)
	for _, e := range entries {
		at := path.Join(rel, e.Name())
		isDir := e.IsDir()
		if ig.ignores(at, isDir) || isDir && isSkipped(e.Name()) {
			continue
		}
		if isDir {
			err = w.descend(dir, e.Name(), at, ig)
		} else {
			err = w.visitFile(dir, e, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// descend enters a folder, unless it has been replaced by a link.
func (w *walker) descend(dir *os.Root, name, rel string, ig *ignore) error {
	before, err := dir.Lstat(name)
	if err != nil || !before.IsDir() {
		return nil
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		w.skipped++
		return nil
	}
	defer sub.Close()
	if now, err := sub.Stat("."); err != nil || !os.SameFile(before, now) {
		return nil
	}
	return w.enter(sub, rel, ig)
}

func (w *walker) visitFile(dir *os.Root, e fs.DirEntry, rel string) error {
	info, err := e.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 && !w.noLinks {
		info, err = dir.Stat(e.Name()) // os.Root refuses a link that leads out
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil // removed, leads outside, or is not a file: skip it
	}
	f := file{dir: dir, name: e.Name(), rel: w.below(rel), info: info}
	f.abs = filepath.Join(w.base.Abs, f.rel)
	if w.hide(f.abs) {
		return nil
	}
	return w.visit(f)
}

// below converts a path to a path relative to the start of the walk.
func (w *walker) below(rel string) string {
	if w.base.Rel == "." {
		return rel
	}
	return strings.TrimPrefix(rel, w.base.Rel+"/")
}

func isSkipped(dir string) bool { return strings.HasPrefix(dir, ".") || dir == "node_modules" }

// ignoreAbove reads the .gitignore files of the folders above a path.
func ignoreAbove(p workdir.Path) *ignore {
	if p.Rel == "." {
		return nil
	}
	var ig *ignore
	at := "."
	for part := range strings.SplitSeq(p.Rel, "/") {
		if dir, err := p.Root.OpenRoot(at); err == nil {
			ig = readIgnore(dir, at, ig)
			dir.Close()
		}
		at = path.Join(at, part)
	}
	return ig
}

const maxIgnore = 1 << 20 // maximum number of bytes read of a .gitignore

func readIgnore(dir *os.Root, rel string, above *ignore) *ignore {
	info, err := dir.Lstat(".gitignore")
	if err != nil || !info.Mode().IsRegular() {
		return above
	}
	in, err := dir.OpenFile(".gitignore", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return above
	}
	defer in.Close()
	content, err := io.ReadAll(io.LimitReader(in, maxIgnore))
	if err != nil {
		return above
	}
	return parseIgnore(above, rel, string(content))
}
