package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Options adjusts [Open]. The zero value works.
type Options struct {
	// BusyTimeout is how long to wait for another process that is writing
	// before the error is ErrBusy; default 10 s.
	BusyTimeout time.Duration
}

// Store is a [session.Store], [session.Leaser], [session.Deleter] and
// [session.Rebuilder] in one SQLite file. It is safe for concurrent use, by any
// number of processes too. Whoever opened it closes it.
type Store struct {
	path    string
	opt     Options
	writer  writer
	readers readers
}

var (
	_ session.Store     = (*Store)(nil)
	_ session.Leaser    = (*Store)(nil)
	_ session.Deleter   = (*Store)(nil)
	_ session.Rebuilder = (*Store)(nil)
)

// Open opens the store in the file at path and creates it, and the folders
// above it, when they are not there: folders with mode 0700, files with 0600.
//
// Errors are [*session.Error] values with a hint: ErrReadOnly when file or
// folder cannot be written, ErrNewer for a file of a later version, ErrCorrupt
// for a damaged file, one that is not SQLite's or not ours, ErrFull, ErrBusy.
func Open(path string, o *Options) (*Store, error) {
	s := &Store{}
	if o != nil {
		s.opt = *o
	}
	if s.opt.BusyTimeout <= 0 {
		s.opt.BusyTimeout = 10 * time.Second
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, &session.Error{Op: "open store", Err: err}
	}
	s.path = abs
	if err := create(abs); err != nil {
		return nil, s.openError(err)
	}
	c, err := dial(abs, s.opt.BusyTimeout)
	if err != nil {
		return nil, s.openError(err)
	}
	if err := s.admit(c); err != nil {
		c.close()
		return nil, s.openError(err)
	}
	s.writer.init(c, s.poison)
	s.readers.init(abs, s.opt.BusyTimeout)
	return s, nil
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.path }

// Close waits for the writes that were begun, writes the journal back when no
// other process has the file open, and closes it. Later calls do nothing.
func (s *Store) Close() error {
	s.readers.close()
	if err := s.writer.close(); err != nil {
		return s.translate("close store", "", err)
	}
	return nil
}

// create makes an empty file that is private from its first moment. It gets its
// name only when it is closed: closing a file that SQLite has open would drop
// SQLite's locks on it.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	// A file system without links.
	f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// admit checks that the file is ours and may be written, and sets it up when it
// is empty.
func (s *Store) admit(c *conn) error {
	app, err := c.pragma("application_id")
	if err != nil {
		return err
	}
	if ro, err := c.raw.(interface{ IsReadOnly(string) (bool, error) }).IsReadOnly("main"); err == nil && ro {
		return fs.ErrPermission
	}
	if app == 0 {
		// SQLite takes a file shorter than a page for an empty one.
		if info, err := os.Stat(s.path); err == nil && info.Size() > 0 && info.Size() < 512 {
			return s.foreign("is not a SQLite file")
		}
		if err := s.setUp(c); err != nil {
			return err
		}
		if app, err = c.pragma("application_id"); err != nil {
			return err
		}
	}
	version, err := c.pragma("user_version")
	if err != nil {
		return err
	}
	if app == applicationID && version > formatVersion {
		return &session.Error{
			Op: "open store", Err: session.ErrNewer, Hint: "update holdfast",
			Detail: fmt.Sprintf("%s has format %d, this program knows %d", s.path, version, formatVersion),
		}
	}
	if app != applicationID || version != formatVersion {
		return s.foreign("is a SQLite file of another program")
	}
	return s.useWAL(c)
}

// useWAL puts a file that was just made, or whose maker died, into WAL mode.
func (s *Store) useWAL(c *conn) error {
	for _, sql := range []string{"PRAGMA journal_mode", "PRAGMA journal_mode = WAL"} {
		mode, err := c.row(sql)
		if err != nil {
			return err
		}
		if len(mode) == 1 && asText(mode[0]) == "wal" {
			return nil
		}
	}
	return &session.Error{
		Op: "open store", Err: session.ErrUnsupported, Detail: s.path + " is on a medium without shared memory",
		Hint: "name a file on a local disk with --store",
	}
}

func (s *Store) foreign(what string) error {
	return &session.Error{
		Op: "open store", Err: session.ErrCorrupt, Detail: s.path + " " + what,
		Hint: "move it away, or name another file with --store",
	}
}

// setUp makes an empty file ours. Of several processes that try, one does it
// and the others find it done.
func (s *Store) setUp(c *conn) (err error) {
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.script("ROLLBACK")
		}
	}()
	app, err := c.pragma("application_id")
	if err != nil {
		return err
	}
	if app == 0 {
		tables, err := c.row("SELECT count(*) FROM sqlite_schema")
		if err != nil {
			return err
		}
		if asInt(tables[0]) != 0 {
			return s.foreign("is a SQLite file of another program")
		}
		mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, formatVersion)
		if err := c.script(schema + mark); err != nil {
			return err
		}
	}
	return c.script("COMMIT")
}

func (s *Store) openError(err error) error {
	if e, ok := errors.AsType[*session.Error](err); ok {
		return e
	}
	if _, ok := fault(err); ok {
		return s.translate("open store", "", err)
	}
	out := &session.Error{Op: "open store", Err: err}
	if isReadOnlyFS(err) {
		return s.readOnly(out)
	}
	if isFull(err) {
		out.Err, out.Detail, out.Hint = session.ErrFull, err.Error(), s.fullHint()
	}
	return out
}
