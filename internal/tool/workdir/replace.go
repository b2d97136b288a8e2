package workdir

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
)

// ErrMoved means that a path no longer leads to the place where it led when it was located.
var ErrMoved = errors.New("leads to another place than when the call was checked")

// ErrChanged means that a file has changed since it was read.
var ErrChanged = errors.New("has changed in the meantime")

// Replace replaces a file completely or not at all: it writes a temporary file in the same folder,
// syncs and renames it, then syncs the folder. before describes the file to replace; it is nil for
// a new file. If the file has changed since then, Replace does nothing and returns ErrChanged or
// ErrMoved. The file gets mode; 0 keeps the mode of an existing file and gives a new one 0644 less
// the umask. An existing file keeps its owner; other hard links to it keep the old content. Missing
// folders above a new file are created. Replace returns information about the new file, even if an
// error happens after the replacement.
func (f *Folders) Replace(p Path, data []byte, before fs.FileInfo, mode fs.FileMode) (info fs.FileInfo, err error) {
	if before != nil {
		return f.replace(p, data, before, mode)
	}
	err = f.MarkOwn(p.Abs, func() error {
		info, err = f.replace(p, data, nil, mode)
		return err
	})
	return info, err
}

func (f *Folders) replace(p Path, data []byte, before fs.FileInfo, mode fs.FileMode) (fs.FileInfo, error) {
	dir := path.Dir(p.Rel)
	fresh, err := makeParents(p.Root, dir)
	if err != nil {
		return nil, err
	}
	info, err := f.put(p, data, before, mode, false)
	if errors.Is(err, errNamed) {
		info, err = f.put(p, data, before, mode, true)
	}
	if err != nil {
		return nil, err
	}
	return info, syncFolders(p.Root, dir, fresh)
}

// errNamed means that the temporary file must have a name from the start.
var errNamed = errors.New("unnamed temporary files are not supported here")

// put writes the temporary file and moves it to its place. If possible, the file has no name until
// it is complete, so that a kill leaves nothing in the folder. Only a file that replaces another one
// needs a name before it is moved, because Linux cannot link over an existing file: a kill between
// the two calls leaves a complete copy under a name that begins with .holdfast-.
func (f *Folders) put(p Path, data []byte, before fs.FileInfo, mode fs.FileMode, named bool) (fs.FileInfo, error) {
	temp := path.Join(path.Dir(p.Rel), ".holdfast-"+rand.Text()[:16])
	out, named, err := openTemp(p.Root, temp, tempMode(before, mode), named)
	if err != nil {
		return nil, err
	}
	info, err := fill(out, data, before, mode)
	if err == nil {
		err = f.checkNotMoved(p, before)
	}
	switch {
	case err != nil:
	case named:
		err = p.Root.Rename(temp, p.Rel)
	case before == nil:
		if err = link(p.Root, out, p.Rel); errors.Is(err, fs.ErrExist) {
			err = &PathError{Path: p.Abs, Err: ErrChanged}
		}
	default:
		if err = link(p.Root, out, temp); err == nil {
			named, err = true, p.Root.Rename(temp, p.Rel)
		}
	}
	closed := out.Close()
	if err != nil && named {
		err = errors.Join(err, ignoreMissing(p.Root.Remove(temp)))
	}
	return info, errors.Join(err, closed)
}

// openTemp opens the temporary file, and reports whether it has a name.
func openTemp(root *os.Root, temp string, perm fs.FileMode, named bool) (*os.File, bool, error) {
	if !named {
		if out := tmpFile(root, path.Dir(temp), perm); out != nil {
			return out, false, nil
		}
	}
	out, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	return out, true, err
}

// tempMode returns the mode for creating the temporary file.
func tempMode(before fs.FileInfo, mode fs.FileMode) fs.FileMode {
	if mode == 0 && before == nil {
		return 0o644 // less the umask
	}
	return 0o600
}

// Remove removes a file. If the file is no longer in the state that before describes, Remove does
// nothing and returns an error. It then removes empty folders above the file; folders is their
// maximum number.
func (f *Folders) Remove(p Path, before fs.FileInfo, folders int) error {
	if err := f.checkNotMoved(p, before); err != nil {
		return err
	}
	if err := p.Root.Remove(p.Rel); err != nil {
		return err
	}
	dir := path.Dir(p.Rel)
	for ; folders > 0 && dir != "."; folders-- {
		if p.Root.Remove(dir) != nil { // it is not empty
			break
		}
		dir = path.Dir(dir)
	}
	return syncFolders(p.Root, dir, dir)
}

// Missing returns the number of folders above a path that do not exist.
func (p Path) Missing() int {
	n := 0
	for dir := path.Dir(p.Rel); dir != "."; dir = path.Dir(dir) {
		if _, err := p.Root.Lstat(dir); err == nil {
			break
		}
		n++
	}
	return n
}

// checkNotMoved is called immediately before a change. It checks that the path still leads to the
// same place, and that the file is still in the state that before describes. If before is nil,
// there must be no file.
func (f *Folders) checkNotMoved(p Path, before fs.FileInfo) error {
	again, err := f.Locate(p.Abs)
	if err != nil {
		return err
	}
	if again.Abs != p.Abs {
		return ErrMoved
	}
	now, err := p.Root.Lstat(p.Rel)
	switch {
	case before == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case before == nil, !os.SameFile(before, now), before.Size() != now.Size(), !before.ModTime().Equal(now.ModTime()):
		return &PathError{Path: p.Abs, Err: ErrChanged}
	}
	return nil
}

// fill sets the owner, mode and content of the temporary file, and syncs it.
func fill(out *os.File, data []byte, before fs.FileInfo, mode fs.FileMode) (info fs.FileInfo, err error) {
	if before != nil && mode == 0 {
		mode = before.Mode().Perm()
	}
	if before != nil {
		keepOwner(out, before)
	}
	if mode != 0 || before != nil {
		err = out.Chmod(mode)
	}
	if err == nil {
		_, err = out.Write(data)
	}
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		info, err = out.Stat()
	}
	return info, err
}

// makeParents creates the missing folders above a file and returns the deepest folder that existed before.
func makeParents(root *os.Root, dir string) (there string, err error) {
	there = dir
	for there != "." {
		_, err := root.Lstat(there)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		there = path.Dir(there)
	}
	return there, root.MkdirAll(dir, 0o755)
}

// syncFolders makes new names durable: in dir, and in each folder above it up to the folder that
// existed before.
func syncFolders(root *os.Root, dir, there string) error {
	for {
		d, err := root.Open(dir)
		if err != nil {
			return err
		}
		if err = errors.Join(syncFolder(d), d.Close()); err != nil || dir == there || dir == "." {
			return err
		}
		dir = path.Dir(dir)
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
