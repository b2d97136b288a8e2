package mysql

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// Options are the options of [Open]. The zero value works.
type Options struct {
	// Conns is the maximum number of connections; default 16, or conns= in the URL. Further
	// writers wait.
	Conns int
	// LockTimeout is how long to wait, in whole seconds, for a row that another connection has
	// locked, before returning ErrBusy; default 10 s.
	LockTimeout time.Duration
	// WatchEvery is how often [Store.Watch] polls for appends of other programs; default 100 ms.
	// Appends of this store are reported at once.
	WatchEvery time.Duration
}

// Store is a [session.Store] with all optional interfaces except [session.Recoverer] and
// [session.Searcher]. It is safe for concurrent use, also by several processes. The caller of Open
// closes it.
type Store struct {
	*tables
	addr       *address
	opt        Options
	db         *sql.DB
	appendCall *sql.Stmt // the prepared call of the procedure; nil if there is no procedure
	packet     int       // the server's max_allowed_packet, in bytes
	// compound reports whether the server supports a block of statements outside procedures, as
	// MariaDB does and MySQL does not.
	compound bool
	watchers *logwatch.Watchers
	closed   atomic.Bool

	mu    sync.Mutex     // held while calls changes and while the store closes
	calls sync.WaitGroup // calls in progress
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

// Open opens the store in the database of a URL:
//
//	mysql://user:password@host:port/database?tls=true&conns=32
//
// The database must exist and be empty or a store. In an empty database Open creates the tables. It
// migrates tables of an older version. The parameters are tls (true, false, skip-verify,
// preferred), tls-ca (a file of certificates), socket (a path, instead of a host), timeout (for
// connecting), conns (see [Options]) and durability (relaxed accepts a server that answers before
// its log is synced).
//
// Errors are [*session.Error] values with a hint and never contain the password: ErrInvalid for an
// invalid URL, ErrNewer for tables of a later version, ErrCorrupt for a database with other
// tables, ErrUnsupported for a server that is too old or does not sync, ErrReadOnly, ErrFull,
// ErrBusy.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	s := &Store{addr: a}
	if o != nil {
		s.opt = *o
	}
	s.opt.defaults(a)
	connector, err := mysql.NewConnector(a.config)
	if err != nil {
		return nil, badURL("%v", err)
	}
	s.db = sql.OpenDB(&dialConnector{Connector: connector, store: s})
	s.db.SetMaxOpenConns(s.opt.Conns)
	s.db.SetMaxIdleConns(s.opt.Conns)
	s.db.SetConnMaxIdleTime(5 * time.Minute)
	s.watchers = logwatch.New(s, func() logwatch.Notifier { return poller{s} })
	s.tables = dialect.Tables(database{s}, rows.Hooks{Acquire: take, Deleted: func(id string, _ int64) { s.watchers.Notify(id) }})
	if err := s.setUp(ctx); err != nil {
		s.db.Close()
		return nil, s.openError(err)
	}
	return s, nil
}

func (o *Options) defaults(a *address) {
	if o.Conns <= 0 {
		o.Conns = a.conns
	}
	if o.Conns <= 0 {
		o.Conns = 16
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = 10 * time.Second
	}
	if o.WatchEvery <= 0 {
		o.WatchEvery = 100 * time.Millisecond
	}
}

// URL returns the URL that the store was opened with, without the password.
func (s *Store) URL() string { return s.addr.shown }

// Close ends the watches and waits for calls in progress. Later calls do nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	before := s.closed.Swap(true)
	s.mu.Unlock()
	if before {
		return nil
	}
	s.watchers.Close()
	s.calls.Wait()
	if err := s.db.Close(); err != nil {
		return s.translate("close store", "", err)
	}
	return nil
}

// enter registers a call, which Close waits for.
func (s *Store) enter(op, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return s.closedError(op, id)
	}
	s.calls.Add(1)
	return nil
}

func (s *Store) openError(err error) error {
	if e, ok := errors.AsType[*session.Error](err); ok {
		return e
	}
	return s.translate("open store", "", err)
}
