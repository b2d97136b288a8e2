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

// Options are the options of [Open]. The zero value works.
type Options struct {
	// BusyTimeout is how long to wait for another process's write before returning ErrBusy;
	// default 10 s.
	BusyTimeout time.Duration
}

// Store is a [session.Store], [session.Leaser], [session.Deleter] and [session.Rebuilder] in one
// SQLite file. It is safe for concurrent use, also by several processes. The caller of Open closes
// it.
type Store struct {
	*tables
	unsyncedTables *tables // methods whose writes a power loss may undo
	path           string
	file           os.FileInfo
	journal        os.FileInfo // nil if the file did not exist when the store was opened
	opt            Options
	writer         writer
	readers        readers
	holders        *diskfile.LivenessLocks
	watchers       *logwatch.Watchers
	pollInterval   time.Duration // see notifier; 0 means the default
}

// tables has the methods that the SQL stores share.
type tables = rows.SQLStore

var (
	_ session.Store     = (*Store)(nil)
	_ session.Leaser    = (*Store)(nil)
	_ session.Deleter   = (*Store)(nil)
	_ session.Eraser    = (*Store)(nil)
	_ session.Rebuilder = (*Store)(nil)
	_ session.Watcher   = (*Store)(nil)
)

// Open opens the store in the file at path. It creates missing folders with mode 0700 and a
// missing file with mode 0600.
//
// Errors are [*session.Error] values with a hint: ErrReadOnly if file or folder cannot be written,
// ErrNewer for a file of a later version, ErrCorrupt for a file that is damaged or not a session
// store, ErrFull, ErrBusy.
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
	if err := s.setUp(c); err != nil {
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
	s.writer.init(c, s.poison, s.checkReplaced)
	s.readers.init(abs, s.opt.BusyTimeout, s.checkReplaced)
	s.holders = diskfile.NewLivenessLocks(func() (*os.File, error) { return os.OpenFile(abs+holdersSuffix, os.O_RDWR|os.O_CREATE, 0o600) })
	s.watchers = logwatch.New(s, s.newNotifier)
	hooks := rows.Hooks{Locks: s.holders, Deleted: func(id string, _ int64) { s.watchers.Notify(id) }}
	s.tables = dialect.Tables(database{Store: s}, hooks)
	s.unsyncedTables = dialect.Tables(database{s, true}, hooks)
	return s, nil
}

// holdersSuffix is the suffix of the empty file whose locks show which lease holders are alive.
const holdersSuffix = "-holders"

// Release implements [session.Leaser]. It does not wait for the disk: if the released lease
// reappears after a power failure, its holder has ended.
func (s *Store) Release(ctx context.Context, id string, l session.Lease) error {
	return s.unsyncedTables.Release(ctx, id, l)
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.path }

// Close waits for writes in progress, checkpoints the journal if no other process has the file
// open, and closes the file. Later calls do nothing.
func (s *Store) Close() error {
	s.watchers.Close()
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
	if _, ok := sqliteError(err); ok {
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
