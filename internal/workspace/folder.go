package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// openFolder opens the folder with the given name in parent. The name is one component of a path.
// openFolder does not follow a link, and makes sure that the opened folder is the one that it
// checked. Errors: fs.ErrNotExist if the folder does not exist, [ErrNotRegular] if it is a link or
// not a folder.
func openFolder(parent *os.Root, name string) (*os.Root, error) {
	seen, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, &Error{Op: "open folder", Path: filepath.Join(parent.Name(), name), Err: ErrNotRegular, Detail: fileTypeText(seen.Mode()) + " instead of a folder"}
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if err := checkSameFile(seen, func() (fs.FileInfo, error) { return dir.Stat(".") }); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// openBelow opens the folder at rel, a clean local path with slashes; "." is another handle of root. Errors are
// those of [openFolder].
func openBelow(root *os.Root, rel string) (*os.Root, error) {
	dir, err := root.OpenRoot(".")
	if err != nil || rel == "." {
		return dir, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := openFolder(dir, name)
		if err := errors.Join(err, dir.Close()); err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// checkSameFile checks that the opened file is the one that was checked before.
func checkSameFile(seen fs.FileInfo, opened func() (fs.FileInfo, error)) error {
	now, err := opened()
	if err == nil && !os.SameFile(seen, now) {
		err = &Error{Op: "open", Path: seen.Name(), Err: ErrOutside, Detail: "it was replaced while it was being opened"}
	}
	return err
}

// fileTypeText describes a file's type in words.
func fileTypeText(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a regular file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a file of unknown type"
}

// open opens the folder of a workspace. It returns [ErrNotFound] if the folder does not exist, and
// [ErrDamaged] if it is not a folder.
func (w *Workspaces) open(op, slug string) (*os.Root, error) {
	if err := CheckSlug(slug); err != nil {
		return nil, err
	}
	all, err := w.openWorkspacesFolder()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFoundError(op, slug)
	}
	if err != nil {
		return nil, err
	}
	defer all.Close()
	dir, err := openFolder(all, slug)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFoundError(op, slug)
	case errors.Is(err, ErrNotRegular):
		return nil, &Error{Op: op, Slug: slug, Path: filepath.Join(w.folder(), slug), Err: ErrDamaged, Detail: err.Error(), Advice: "holdfast workspace delete " + slug + " removes it, but not what it points to"}
	case err != nil:
		return nil, &Error{Op: op, Slug: slug, Err: err}
	}
	return dir, nil
}

// openWorkspacesFolder opens the folder of all workspaces and checks that it is a folder.
func (w *Workspaces) openWorkspacesFolder() (*os.Root, error) {
	home, err := os.OpenRoot(w.home)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	all, err := openFolder(home, "workspaces")
	if errors.Is(err, ErrNotRegular) {
		return nil, &Error{Op: "open workspaces", Path: w.folder(), Err: ErrDamaged, Detail: err.Error(), Advice: "replace it with a folder"}
	}
	return all, err
}

func notFoundError(op, slug string) error {
	return &Error{Op: op, Slug: slug, Err: ErrNotFound, Advice: "holdfast workspace list"}
}
