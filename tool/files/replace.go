package files

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// replace puts data in the place of a file, whole or not at all: a temp file in
// the same folder is synced and renamed, then the folder is synced. before
// describes the file that is replaced, or is nil for a new one; when that is no
// longer what lies there, nothing happens. Mode and owner of an existing file
// are kept; other hard links to it keep the old content. was is the digest of the
// content before. The changes are there when the content was replaced, also with an
// error.
func (f *Files) replace(p tool.Place, data []byte, before fs.FileInfo, was string) ([]session.Change, error) {
	dir := path.Dir(p.Rel)
	fresh, err := makeParents(p.Root, dir)
	if err != nil {
		return nil, err
	}
	temp := path.Join(dir, ".holdfast-"+rand.Text()[:16])
	info, err := writeTemp(p.Root, temp, data, before)
	if err == nil {
		err = f.unmoved(p, before)
	}
	if err == nil {
		err = p.Root.Rename(temp, p.Rel)
	}
	if err != nil {
		return nil, errors.Join(err, ignoreMissing(p.Root.Remove(temp)))
	}
	sum := sha256.Sum256(data)
	f.remember(p.Abs, stateOf(info, sum[:]))
	changes := []session.Change{{Path: p.Abs, Before: was, After: hex.EncodeToString(sum[:])}}
	return changes, syncFolders(p.Root, dir, fresh)
}

// unmoved checks, right before the rename, that the place still is what it was.
func (f *Files) unmoved(p tool.Place, before fs.FileInfo) error {
	again, err := f.folders.Locate(p.Abs)
	if err != nil {
		return err
	}
	if again.Abs != p.Abs {
		return errMoved
	}
	now, err := p.Root.Lstat(p.Rel)
	switch {
	case before == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case before == nil, !os.SameFile(before, now), before.Size() != now.Size(), !before.ModTime().Equal(now.ModTime()):
		return stale(p)
	}
	return nil
}

func writeTemp(root *os.Root, temp string, data []byte, before fs.FileInfo) (fs.FileInfo, error) {
	mode := fs.FileMode(0o644) // less the umask
	if before != nil {
		mode = 0o600
	}
	out, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	if before != nil {
		keepOwner(out, before)
		err = out.Chmod(before.Mode().Perm())
	}
	if err == nil {
		_, err = out.Write(data)
	}
	if err == nil {
		err = out.Sync()
	}
	var info fs.FileInfo
	if err == nil {
		info, err = out.Stat()
	}
	return info, errors.Join(err, out.Close())
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
