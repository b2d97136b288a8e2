//go:build unix

package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// maxRounds is the maximum number of passes if new entries appear during the removal.
const maxRounds = 100

// Remove removes name, one component, from an open folder, with everything below it. Links are
// removed and never followed, only folders are opened, and mount points are not entered
// ([ErrMounted]). It adds missing permissions to folders. If some entries cannot be removed, it
// removes everything else, and the error is a [*RemainingError]. It is not an error if name does
// not exist. If new entries appear as fast as entries are removed, the error is [ErrWriting].
func Remove(ctx context.Context, parent *os.File, name string) (Removed, error) {
	r := &remover{}
	dir := int(parent.Fd())
	for range maxRounds {
		before := r.removed
		r.failures = failures{op: "remove"}
		done, err := r.pass(ctx, dir, name)
		if done || err != nil {
			return Removed{r.removed}, err
		}
		if r.removed == before && r.count > 0 {
			return Removed{r.removed}, r.error()
		}
	}
	return Removed{r.removed}, &fs.PathError{Op: "remove", Path: quote(name), Err: ErrWriting}
}

// remover removes what a walk visits.
type remover struct {
	failures
	removed int64
}

// pass makes one pass through the tree and reports whether it is gone.
func (r *remover) pass(ctx context.Context, dir int, name string) (bool, error) {
	folder, err := r.entry(dir, name)
	if err != nil {
		return false, r.soleError(name, err)
	}
	if !folder {
		return true, nil
	}
	at, err := folderIDOf(dir)
	if err != nil {
		return false, err
	}
	top, _, err := enter(dir, name, at)
	if errors.Is(err, fs.ErrPermission) && r.locked(dir, name) {
		top, _, err = enter(dir, name, at)
	}
	if err != nil {
		if gone(err) {
			return false, nil // replaced meanwhile
		}
		return false, r.soleError(name, err)
	}
	err = walk(ctx, top, r)
	if err := errors.Join(err, top.Close()); err != nil {
		return false, err
	}
	if err := r.exitDir(dir, name); err != nil {
		r.failed(name, err)
	}
	_, err = lstat(dir, name)
	return errors.Is(err, fs.ErrNotExist), nil
}

// soleError returns a [*RemainingError] with only this error.
func (r *remover) soleError(name string, err error) error {
	r.failures = failures{op: "remove"}
	r.failed(name, err)
	return r.error()
}

// entry removes an entry that is not a folder.
func (r *remover) entry(dir int, name string) (folder bool, err error) {
	err = unlinkat(dir, name, 0)
	switch {
	case err == nil:
		r.removed++
		return false, nil
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case errors.Is(err, unix.EISDIR):
		return true, nil
	}
	// Not every system reports that the entry is a folder.
	if st, lerr := lstat(dir, name); lerr == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return true, nil
	}
	return false, err
}

func (r *remover) locked(dir int, name string) bool { return unlock(dir, name, 0o700) == nil }

// entered makes a folder's entries removable.
func (r *remover) entered(dir int) {
	var st unix.Stat_t
	if unix.Fstat(dir, &st) == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Fchmod(dir, 0o700) // if this fails, the failed removals are reported later
	}
}

// exitDir removes a folder that should be empty by now.
func (r *remover) exitDir(dir int, name string) error {
	err := unlinkat(dir, name, unix.AT_REMOVEDIR)
	switch {
	case err == nil:
		r.removed++
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST), gone(err):
		return nil // the next pass removes it, or its entries were already reported
	}
	return err
}

func unlinkat(dir int, name string, flags int) error {
	for {
		if err := unix.Unlinkat(dir, name, flags); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func lstat(dir int, name string) (st unix.Stat_t, err error) {
	for {
		if err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); !errors.Is(err, unix.EINTR) {
			return st, err
		}
	}
}
