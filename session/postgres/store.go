package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// Options are the options of [Open]. The zero value works.
type Options struct {
	// Patience is the maximum time for which an operation is retried after a lost connection or
	// while the server starts; default 10 s, less than 0 means no retry. Open itself does not
	// retry.
	Patience time.Duration
}

// Store is a [session.Store] with all optional interfaces except Recoverer, in a schema of a
// PostgreSQL database. It is safe for concurrent use, also by several programs. The caller of Open
// closes it.
type Store struct {
	*tables
	at       *target
	patience time.Duration
	pool     *pgxpool.Pool
	ctx      context.Context // ends with Close
	cancel   context.CancelCauseFunc
	close    sync.Once
	notifier notifier
	watching watchers
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
	_ session.Searcher  = (*Store)(nil)
)

// dialect is PostgreSQL's dialect. Text is sent as bytes.
var dialect = rows.Dialect{
	Numbered: true, Text: func(s string) any { return []byte(s) },
	Epochs: true, NextEpoch: "SELECT nextval('epochs')",
	Clock:     clock,
	Renewed:   "?::text || " + clock + " || ?::text",
	ForUpdate: " FOR UPDATE", ForShare: " FOR SHARE",
	Source: "search", Index: []string{"search", "indexed"},
}

// clock is the server's time in milliseconds.
const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// Open opens the store in the database of a URL and creates its schema if it does not exist:
//
//	postgres://user:password@host:port/database?schema=holdfast&durability=strict
//
// Further parameters are PostgreSQL's (sslmode, sslrootcert, host, target_session_attrs, …) and
// pool_max_conns, by default 16. durability=relaxed accepts a server whose settings may lose
// acknowledged writes.
//
// Errors are [*session.Error] values with a hint: ErrInvalid for an invalid URL or a schema with
// unrelated tables, ErrNewer for a schema of a later version, ErrReadOnly, and ErrUnsupported for
// a server or database whose settings differ from docs/formats/postgres.md. Errors never contain
// the password.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	at, err := parse(url)
	if err != nil {
		return nil, err
	}
	s := &Store{at: at}
	c, err := pgx.ConnectConfig(ctx, at.config.ConnConfig)
	if err != nil {
		return nil, s.translate("open store", "", err)
	}
	err = s.setUp(ctx, c)
	if err := errors.Join(err, c.Close(ctx)); err != nil {
		return nil, s.translate("open store", "", err)
	}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if s.pool, err = pgxpool.NewWithConfig(s.ctx, at.config); err != nil {
		return nil, s.translate("open store", "", err)
	}
	s.patience = 10 * time.Second
	if o != nil && o.Patience != 0 {
		s.patience = o.Patience
	}
	s.tables = dialect.Tables(database{s}, rows.Hooks{Begin: s.lock, Deleted: func(_ string, num int64) { s.grown(num) }})
	s.notifier.start(s)
	s.watching.init(s)
	return s, nil
}

// String returns the database and the schema, without the password.
func (s *Store) String() string { return s.at.String() }

// Close waits for operations in progress, ends the watches, and closes the connections. Later
// calls do nothing.
func (s *Store) Close() error {
	s.close.Do(func() {
		s.notifier.stop()
		s.cancel(session.ErrClosed)
		s.watching.wait()
		s.pool.Close()
	})
	return nil
}

// key returns the key of an advisory lock of this schema.
func (s *Store) key(of string) int64 {
	sum := sha256.Sum256([]byte("holdfast\x00" + s.at.schema + "\x00" + of))
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // any 64 bits do
}

// do runs f with a connection. If the connection is lost, or the server asks for a retry, f is
// called again on another connection; again then means that the first call may have had an effect.
func (s *Store) do(ctx context.Context, op, id string, f func(c *pgxpool.Conn, again bool) error) error {
	return s.try(ctx, op, id, func(again bool) (ran bool, err error) {
		err = s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
			ran = true
			return f(c, again)
		})
		return ran, err
	})
}

// try calls f until it succeeds, fails with a permanent error, or the time is over. The parameter
// again of f is true if an earlier call may have had an effect. f returns whether this call may
// have had one.
func (s *Store) try(ctx context.Context, op, id string, f func(again bool) (ran bool, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	begun, pause := time.Now(), 20*time.Millisecond
	for again := false; ; {
		if s.ctx.Err() != nil {
			return &session.Error{Op: op, Session: id, Err: session.ErrClosed, Detail: s.at.String()}
		}
		ran, err := f(again)
		switch cause := ctx.Err(); {
		case err == nil:
			return nil
		case cause != nil && errors.Is(err, cause):
			return err
		}
		if !isTemporary(err) || ctx.Err() != nil || s.ctx.Err() != nil || time.Since(begun) >= s.patience || endsBefore(ctx, pause) {
			return s.translate(op, id, err)
		}
		again = again || ran && !pgconn.SafeToRetry(err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-s.ctx.Done():
		}
		timer.Stop()
		pause = min(2*pause, time.Second)
	}
}

// endsBefore reports whether a context ends within a pause. The last error is then more useful
// than the context's.
func endsBefore(ctx context.Context, pause time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < pause
}

// Check implements [session.Checker].
func (s *Store) Check(ctx context.Context) error {
	return s.do(ctx, "check store", "", func(c *pgxpool.Conn, _ bool) error {
		var readOnly bool
		err := c.QueryRow(ctx, `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' FROM format`).Scan(&readOnly)
		if err == nil && readOnly {
			err = &session.Error{
				Op: "check store", Err: session.ErrReadOnly, Detail: s.at.String() + " does not accept writes: it is a standby or read-only",
				Hint: "use the primary server, or make the database writable",
			}
		}
		return err
	})
}
