package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-dev/holdfast/session"
)

// sqliteError returns SQLite's error in err. Any other error of a transaction's step changed
// nothing, and the transaction continues.
func sqliteError(err error) (*modernc.Error, bool) { return errors.AsType[*modernc.Error](err) }

// translate converts SQLite's errors to those of package session. It leaves other errors
// unchanged.
func (s *Store) translate(op, id string, err error) error {
	e, ok := sqliteError(err)
	if !ok {
		return err
	}
	out := &session.Error{Op: op, Session: id, Err: err}
	set := func(sentinel error, detail, hint string) *session.Error {
		out.Err, out.Detail, out.Hint = sentinel, detail, hint
		return out
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return set(session.ErrFull, s.path, s.fullHint())
	case sqlite3.SQLITE_CORRUPT:
		return set(session.ErrCorrupt, s.path+": "+e.Error(), "holdfast sessions repair --all")
	case sqlite3.SQLITE_NOTADB:
		return set(session.ErrCorrupt, s.path+" is not a SQLite file", "if it was one, run holdfast sessions repair --all; otherwise use another file with --store")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return set(session.ErrBusy, s.path+" is locked by another process", "find the process with: fuser "+s.path)
	case sqlite3.SQLITE_READONLY:
		return s.readOnly(out)
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR:
		// SQLite does not return the system's error, so a write is tried to get the same error
		// again.
		switch err := probe(s.path); {
		case isFull(err):
			return set(session.ErrFull, err.Error(), s.fullHint())
		case isReadOnlyFS(err):
			return s.readOnly(out)
		}
		switch {
		case e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ, e.Code() == sqlite3.SQLITE_IOERR_CORRUPTFS:
			return set(session.ErrCorrupt, s.path+": "+e.Error(), "holdfast sessions repair --all")
		case isWriteError(e):
			return set(session.ErrPoisoned, s.path+": "+e.Error(), s.poisonHint())
		}
	}
	out.Detail = s.path
	return out
}

func (s *Store) readOnly(out *session.Error) error {
	out.Err, out.Detail = session.ErrReadOnly, s.path
	out.Hint = "make " + filepath.Dir(s.path) + " and the files in it writable, or set HOLDFAST_HOME to a folder that is"
	return out
}

func (s *Store) fullHint() string { return "free space on the disk that holds " + filepath.Dir(s.path) }

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func isReadOnlyFS(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// poison decides whether the content of the disk is unknown after a failed write. If it is, poison
// returns the error that every later write returns. If the disk was full, the content is known,
// unless the sync failed.
func (s *Store) poison(err error) error {
	e, ok := sqliteError(err)
	switch {
	case !ok:
		return nil
	case e.Code() == sqlite3.SQLITE_READONLY_DBMOVED, isSyncError(e):
		return s.poisoned(e.Error())
	case e.Code()&0xff != sqlite3.SQLITE_IOERR:
		return nil
	}
	if err := probe(s.path); isFull(err) || isReadOnlyFS(err) {
		return nil
	}
	return s.poisoned(e.Error())
}

func isSyncError(e *modernc.Error) bool {
	return e.Code() == sqlite3.SQLITE_IOERR_FSYNC || e.Code() == sqlite3.SQLITE_IOERR_DIR_FSYNC
}

// isWriteError reports whether the failed operation was a write.
func isWriteError(e *modernc.Error) bool {
	switch e.Code() {
	case sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_TRUNCATE, sqlite3.SQLITE_IOERR_CLOSE,
		sqlite3.SQLITE_IOERR_DELETE, sqlite3.SQLITE_IOERR_DELETE_NOENT,
		sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE,
		sqlite3.SQLITE_IOERR_BEGIN_ATOMIC, sqlite3.SQLITE_IOERR_COMMIT_ATOMIC:
		return true
	}
	return isSyncError(e)
}

// checkReplaced returns an error if the paths no longer lead to the files that SQLite has open:
// SQLite would continue to write to files that cannot be opened again.
func (s *Store) checkReplaced() error {
	if err := s.checkSameFile(s.path, s.file); err != nil || s.journal == nil {
		return err
	}
	return s.checkSameFile(s.path+"-wal", s.journal)
}

func (s *Store) checkSameFile(path string, was os.FileInfo) error {
	if same, err := sameFile(path, was); err != nil {
		return s.poisoned(err.Error())
	} else if !same {
		return s.poisoned(path + " was replaced by another file")
	}
	return nil
}

func sameByStat(path string, was os.FileInfo) (bool, error) {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(was, now), err
}

func (s *Store) poisoned(detail string) error {
	return &session.Error{
		Err: session.ErrPoisoned, Detail: s.path + ": " + detail,
		Hint: s.poisonHint(),
	}
}

func (s *Store) poisonHint() string {
	return "check that " + s.path + " still exists and its disk is healthy, then restart"
}

func isBusy(err error) bool {
	e, ok := sqliteError(err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

func isCorrupt(err error) bool {
	e, ok := sqliteError(err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_CORRUPT
}

// probe writes a small file next to path and returns the system's error. It must not open path
// itself: closing it would drop SQLite's locks on it.
func probe(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".probe-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Join(err, f.Sync(), f.Close())
}
