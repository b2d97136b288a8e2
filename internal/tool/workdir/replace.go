package workdir

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
)

// ErrMoved says that a path leads elsewhere than it did when it was located.
var ErrMoved = errors.New("leads to another place than when the call was checked")

// ErrChanged says that a file is not what it was when it was looked at.
var ErrChanged = errors.New("has changed in the meantime")

// Replace puts data in the place of a file, whole or not at all: a temp file in the same
// folder is synced and renamed, then the folder is synced. before describes the file that
// is replaced, nil for a new one; when that is no longer what lies there, nothing happens:
// ErrChanged, or ErrMoved. The file gets mode; when that is 0 an existing one keeps its own,
// and a new one gets 0644 less the umask. An existing one keeps its owner, and other hard
// links to it keep the old content; missing folders above a new one are made. The info is
// that of the new file, also with an error that comes after it was put in place.
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

// errNamed says that the file has to have a name from the start.
var errNamed = errors.New("unnamed temporary files are not supported here")

// put writes the temp file and puts it in place. Where it can it has no name until it is
// whole, and a new file never another than its own: who is killed in the middle leaves
// nothing in the folder.
func (f *Folders) put(p Path, data []byte, before fs.FileInfo, mode fs.FileMode, named bool) (fs.FileInfo, error) {
	temp := path.Join(path.Dir(p.Rel), ".holdfast-"+rand.Text()[:16])
	out, named, err := openTemp(p.Root, temp, first(before, mode), named)
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

// openTemp opens the temp file, and says whether it has a name.
func openTemp(root *os.Root, temp string, perm fs.FileMode, named bool) (*os.File, bool, error) {
	if !named {
		if out := tmpFile(root, path.Dir(temp), perm); out != nil {
			return out, false, nil
		}
	}
	out, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	return out, true, err
}

// first is the mode with which the temp file is made.
func first(before fs.FileInfo, mode fs.FileMode) fs.FileMode {
	if mode == 0 && before == nil {
		return 0o644 // less the umask
	}
	return 0o600
}

// Remove removes a file that is still what before describes, and up to so many folders
// above it that are empty then.
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

// Missing is how many folders above a place are not there.
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

// checkNotMoved checks, right before something is done, that the place still is what it was.
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

// fill gives the temp file its owner, mode and content, and syncs it.
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

// makeParents creates the missing folders above a file and returns the deepest
// folder that was there before.
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

// syncFolders makes new names durable: in dir and in the folders above it up to
// the one that was there before.
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
