package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/internal/session/rows"
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
	*tables
	leaving *tables // writes what a loss of power may take back
	path    string
	file    os.FileInfo
	journal os.FileInfo // nil: there was none when the store was opened
	opt     Options
	writer  writer
	readers readers
	holders *diskfile.LivenessLocks
	board   *logwatch.Watchers
	beneath time.Duration // see notifier; 0: as it is
}

// tables has the methods that the stores with tables share.
type tables = rows.SQLStore

var (
	_ session.Store     = (*Store)(nil)
	_ session.Leaser    = (*Store)(nil)
	_ session.Deleter   = (*Store)(nil)
	_ session.Eraser    = (*Store)(nil)
	_ session.Rebuilder = (*Store)(nil)
	_ session.Watcher   = (*Store)(nil)
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
	if s.file, err = os.Stat(abs); err != nil {
		c.close()
		return nil, s.openError(err)
	}
	if s.journal, err = os.Stat(abs + "-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.close()
		return nil, s.openError(err)
	}
	s.writer.init(c, s.poison, s.isReplaced)
	s.readers.init(abs, s.opt.BusyTimeout, s.isReplaced)
	s.holders = diskfile.NewHolders(func() (*os.File, error) { return os.OpenFile(abs+holdersSuffix, os.O_RDWR|os.O_CREATE, 0o600) })
	s.board = logwatch.New(s, s.newNotifier)
	hooks := rows.Hooks{Locks: s.holders, Deleted: func(id string, _ int64) { s.board.Notify(id) }}
	s.tables = dialect.Tables(database{Store: s}, hooks)
	s.leaving = dialect.Tables(database{s, true}, hooks)
	return s, nil
}

// holdersSuffix names the empty file beside the database whose locks tell who lives.
const holdersSuffix = "-holders"

// Release implements [session.Leaser]. It does not wait for the disk: a lease that comes back
// when the power fails is one whose holder has ended.
func (s *Store) Release(ctx context.Context, id string, l session.Lease) error {
	return s.leaving.Release(ctx, id, l)
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.path }

// Close waits for the writes that were begun, writes the journal back when no
// other process has the file open, and closes it. Later calls do nothing.
func (s *Store) Close() error {
	s.board.Close()
	s.readers.close()
	defer s.holders.Close()
	if err := s.writer.close(); err != nil {
		return s.translate("close store", "", err)
	}
	return nil
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
