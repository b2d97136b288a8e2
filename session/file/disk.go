package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/holdfast-dev/holdfast/session"
)

// diskOps performs every operation that changes the disk. Tests set fault to make the Nth
// operation fail.
type diskOps struct {
	// fault is called before each operation. A failing write writes n bytes first.
	fault func(op, name string) (n int, err error)
}

func (m diskOps) check(op, name string) (int, error) {
	if m.fault == nil {
		return 0, nil
	}
	return m.fault(op, name)
}

func (m diskOps) write(f *os.File, b []byte, off int64) error {
	if n, err := m.check("write", f.Name()); err != nil {
		_, _ = f.WriteAt(b[:min(n, len(b))], off)
		return err
	}
	_, err := f.WriteAt(b, off)
	return err
}

// sync makes a file's content and length durable.
func (m diskOps) sync(f *os.File) error {
	if _, err := m.check("sync", f.Name()); err != nil {
		return err
	}
	return fdatasync(f)
}

func (m diskOps) truncate(f *os.File, size int64) error {
	if _, err := m.check("truncate", f.Name()); err != nil {
		return err
	}
	return f.Truncate(size)
}

// syncDir makes the names in a directory durable.
func (m diskOps) syncDir(r *os.Root) error {
	if _, err := m.check("syncdir", r.Name()); err != nil {
		return err
	}
	d, err := r.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (m diskOps) mkdir(r *os.Root, name string) error {
	if _, err := m.check("mkdir", name); err != nil {
		return err
	}
	return r.Mkdir(name, 0o700)
}

func (m diskOps) rename(r *os.Root, from, to string) error {
	if _, err := m.check("rename", from); err != nil {
		return err
	}
	return r.Rename(from, to)
}

func (m diskOps) remove(r *os.Root, name string) error {
	if _, err := m.check("remove", name); err != nil {
		return err
	}
	return r.Remove(name)
}

func (m diskOps) removeAll(r *os.Root, name string) error {
	if _, err := m.check("removeall", name); err != nil {
		return err
	}
	return r.RemoveAll(name)
}

// open opens a regular file, never through a link. A new file gets mode 0600; for an existing one
// the rights of other users are removed.
func (m diskOps) open(r *os.Root, name string, flag int) (*os.File, error) {
	if flag&os.O_CREATE != 0 {
		if _, err := m.check("create", name); err != nil {
			return nil, err
		}
	}
	before, err := r.Lstat(name)
	switch {
	case err == nil && !before.Mode().IsRegular():
		return nil, &foreignError{name, before.Mode()}
	case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
		f, err := r.OpenFile(name, flag|os.O_EXCL|openFlags, 0o600)
		if errors.Is(err, fs.ErrExist) { // created by another process meanwhile
			return m.open(r, name, flag&^os.O_CREATE)
		}
		return f, err
	case err != nil:
		return nil, err
	}
	f, err := r.OpenFile(name, flag&^os.O_CREATE|openFlags, 0)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if !os.SameFile(before, after) { // replaced meanwhile
		f.Close()
		return m.open(r, name, flag)
	}
	if mode := after.Mode().Perm(); mode&0o077 != 0 {
		_ = f.Chmod(mode &^ 0o077) // this fails on file systems without modes and for files of another owner: the file stays readable for others
	}
	return f, nil
}

// replace writes a small file atomically: at any time the file has either the old or the new
// content. If durable is true, the new content is synced before replace returns.
func (m diskOps) replace(r *os.Root, name string, b []byte, durable bool) error {
	tmp := name + ".new"
	if err := r.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := m.open(r, tmp, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	err = m.write(f, b, 0)
	if err == nil && durable {
		err = m.sync(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = m.rename(r, tmp, name)
	}
	if err != nil {
		_ = r.Remove(tmp)
		return err
	}
	if durable {
		return m.syncDir(r)
	}
	return nil
}

// openDir opens a directory of the store, never through a link, and removes the rights of other
// users.
func openDir(r *os.Root, name string) (*os.Root, error) {
	before, err := r.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, &foreignError{name, before.Mode()}
	}
	d, err := r.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := d.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = &foreignError{name, fs.ModeSymlink}
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	if mode := after.Mode().Perm(); mode&0o077 != 0 {
		_ = d.Chmod(".", mode&^0o077)
	}
	return d, nil
}

// foreignError is the error for an entry of the store's directory that the store did not create,
// such as a symbolic link.
type foreignError struct {
	name string
	mode fs.FileMode
}

func (e *foreignError) Error() string {
	what := "something else"
	switch {
	case e.mode&fs.ModeSymlink != 0:
		what = "a symbolic link"
	case e.mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case e.mode&fs.ModeSocket != 0:
		what = "a socket"
	case e.mode&fs.ModeDevice != 0:
		what = "a device"
	case e.mode.IsDir():
		what = "a directory"
	case e.mode.IsRegular():
		what = "a file"
	}
	return fmt.Sprintf("%s is %s", e.name, what)
}

// explain converts an error of the operating system to one of package session.
func explain(op, id string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*session.Error](err); ok {
		return err
	}
	e := &session.Error{Op: op, Session: id, Err: err}
	foreign, isForeign := errors.AsType[*foreignError](err)
	switch {
	case isForeign:
		e.Err, e.Detail = session.ErrInvalid, foreign.Error()
		e.Hint = "inspect and remove it; the store does not follow it"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		e.Err, e.Detail = session.ErrFull, err.Error()
		e.Hint = "free space on the disk and try again"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		e.Err, e.Detail = session.ErrReadOnly, err.Error()
		e.Hint = "check the owner and mode of the store's directory"
	case errors.Is(err, fs.ErrNotExist):
		e.Err, e.Detail = session.ErrNotFound, err.Error()
	case errors.Is(err, os.ErrClosed):
		e.Err = session.ErrClosed
	}
	return e
}
