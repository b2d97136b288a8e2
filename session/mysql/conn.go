package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/internal/wait"
	"github.com/holdfast-dev/holdfast/session"
)

// dialConnector opens connections and sets each one up for this package, whatever the server's
// defaults are. It checks for each connection whether the server syncs: since the store was opened,
// the settings may have changed, or another server may have replaced this one.
type dialConnector struct {
	driver.Connector
	store *Store
}

// driverConn has the methods that every connection of the driver has.
type driverConn interface {
	driver.ExecerContext
	driver.QueryerContext
}

// Connect opens a connection with a timeout, because the pool opens connections in advance, one
// after the other, without the context of a request.
func (g *dialConnector) Connect(ctx context.Context) (driver.Conn, error) {
	bounded, stop := context.WithTimeout(ctx, g.store.addr.config.Timeout)
	defer stop()
	c, err := g.connect(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return nil, errSilent
	}
	return c, err
}

// errSilent is the error when opening a connection times out. It differs from the error of a
// caller's context that has ended.
var errSilent error = &net.OpError{Op: "connect", Net: "tcp", Err: os.ErrDeadlineExceeded}

func (g *dialConnector) connect(ctx context.Context) (driver.Conn, error) {
	c, err := g.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	a, ok := c.(driverConn)
	if !ok {
		c.Close()
		return nil, errors.New("mysql: the driver's connection does not support queries")
	}
	if err := g.setUp(ctx, a); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

const settings = `SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET autocommit = 1, completion_type = 'NO_CHAIN', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_safe_updates = 0,
  sql_select_limit = 18446744073709551615, innodb_lock_wait_timeout = %d`

func (g *dialConnector) setUp(ctx context.Context, c driverConn) error {
	seconds := max(int64(g.store.opt.LockTimeout/time.Second), 1)
	if _, err := c.ExecContext(ctx, fmt.Sprintf(settings, seconds), nil); err != nil {
		return err
	}
	found, err := c.QueryContext(ctx, `SELECT CONCAT_WS('|', @@version, @@max_allowed_packet,
  @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog, @@innodb_flush_method)`, nil)
	if err != nil {
		return err
	}
	defer found.Close()
	row := make([]driver.Value, 1)
	if err := found.Next(row); err != nil {
		return err
	}
	text, _ := row[0].([]byte)
	f := strings.Split(string(text), "|")
	if len(f) != 6 {
		return &session.Error{Op: "open store", Err: session.ErrUnsupported, Detail: "the server does not report its settings"}
	}
	if err := checkVersion(f[0]); err != nil {
		return err
	}
	if !g.store.addr.relaxed {
		if err := checkDurable(f[2], f[3], f[4], f[5]); err != nil {
			return err
		}
	}
	if err := found.Next(row); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// checkVersion rejects servers older than this package supports.
func checkVersion(version string) error {
	oldest, name := [2]int{8, 0}, "MySQL"
	if strings.Contains(version, "MariaDB") {
		oldest, name = [2]int{10, 5}, "MariaDB"
		version = strings.TrimPrefix(version, "5.5.5-")
	}
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err1 == nil && err2 == nil && (a > oldest[0] || a == oldest[0] && b >= oldest[1]) {
		return nil
	}
	return &session.Error{
		Op: "open store", Err: session.ErrUnsupported, Detail: "the server is " + name + " " + version,
		Hint: "use MySQL 8.0, MariaDB 10.5, or a later version",
	}
}

// checkDurable rejects a server that answers a commit before it is on the medium. If the server has
// a binary log, that log decides after a crash which transactions were committed.
func checkDurable(flush, binlog, syncBinlog, method string) error {
	var detail, hint string
	switch {
	case flush != "1":
		detail, hint = "innodb_flush_log_at_trx_commit is "+flush, "SET GLOBAL innodb_flush_log_at_trx_commit = 1"
	case binlog == "1" && syncBinlog != "1":
		detail, hint = "the binary log is on and sync_binlog is "+syncBinlog, "SET GLOBAL sync_binlog = 1"
	case method == "nosync" || method == "littlesync":
		detail, hint = "innodb_flush_method is "+method, "set innodb_flush_method=O_DIRECT in the server's configuration"
	default:
		return nil
	}
	return &session.Error{
		Op: "open store", Err: session.ErrUnsupported, Detail: "a power cut may lose acknowledged writes: " + detail,
		Hint: hint + " (and in its configuration), or accept it with durability=relaxed in the URL",
	}
}

// How often an operation is tried after a temporary failure: a deadlock or a
// lost connection.
const (
	deadlockTries = 50
	lostTries     = 4
)

// errAgain requests another try.
var errAgain = errors.New("try again")

// retry calls f until it succeeds, fails permanently, or was tried often enough. The parameter
// unsure of f is true if an earlier try lost its connection and may have been carried out.
func (s *Store) retry(ctx context.Context, op, id string, f func(unsure bool) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(op, id); err != nil {
		return err
	}
	defer s.calls.Done()
	for tries, lost := 1, 0; ; tries++ {
		err := f(lost > 0)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && !isOwnError(err):
			return ctx.Err()
		case (isDeadlock(err) || errors.Is(err, errAgain)) && tries < deadlockTries:
		case isLost(err) && lost < lostTries-1 && !s.closed.Load():
			lost++
			if err := wait.For(ctx, time.Duration(lost*lost)*20*time.Millisecond); err != nil {
				return err
			}
		default:
			return s.translate(op, id, err)
		}
	}
}

// tx is a connection, in a transaction after begin.
type tx struct {
	ctx           context.Context
	c             *sql.Conn
	begun         bool
	commitUnknown bool // an earlier try may have been carried out
}

// withConn runs f with a connection. A transaction that f leaves open is rolled back.
func (s *Store) withConn(ctx context.Context, op, id string, f func(*tx) error) error {
	return s.retry(ctx, op, id, func(unsure bool) error {
		c, err := s.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		t := &tx{ctx: ctx, c: c, commitUnknown: unsure}
		defer t.rollback()
		return f(t)
	})
}

// transact is like on, but runs f in a transaction and commits it if f returns nil.
func (s *Store) transact(ctx context.Context, op, id string, f func(*tx) error) error {
	return s.withConn(ctx, op, id, func(t *tx) error {
		if err := t.begin(); err != nil {
			return err
		}
		if err := f(t); err != nil {
			return err
		}
		return t.commit()
	})
}

func (t *tx) begin() error {
	t.begun = true
	_, err := t.exec("START TRANSACTION")
	return err
}

func (t *tx) commit() error {
	_, err := t.exec("COMMIT")
	if err == nil {
		t.begun = false
	}
	return err
}

// rollback ends an open transaction. If that fails, the connection is closed, which makes the
// server roll back.
func (t *tx) rollback() {
	if !t.begun {
		return
	}
	t.begun = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), 5*time.Second)
	defer cancel()
	if _, err := t.c.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = t.c.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// exec returns how many rows the last statement changed, or found already changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	r, err := t.c.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// row reads the first row of a query; it returns false if there is none.
func (t *tx) row(dest []any, query string, args ...any) (bool, error) {
	err := t.c.QueryRowContext(t.ctx, query, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Exec implements [rows.Tx].
func (t *tx) Exec(query string, args ...any) (int64, error) {
	return t.exec(query, dialect.Params(args)...)
}

// Query implements [rows.Tx].
func (t *tx) Query(query string, args, dest []any, row func() bool) error {
	found, err := t.c.QueryContext(t.ctx, query, dialect.Params(args)...)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := found.Scan(dest...); err != nil {
			return err
		}
		if !row() {
			break
		}
	}
	return found.Err()
}

// MayBeRetry implements [rows.Tx].
func (t *tx) MayBeRetry() bool { return t.commitUnknown }

// database provides connections to the shared methods of [rows.SQLStore].
type database struct{ *Store }

func (d database) Read(ctx context.Context, op, id string, f func(rows.Tx) error) error {
	return d.withConn(ctx, op, id, func(t *tx) error { return f(t) })
}

func (d database) Write(ctx context.Context, op, id string, f func(rows.Tx) error) error {
	return d.Read(ctx, op, id, f)
}

func (d database) Transact(ctx context.Context, op, id string, f func(rows.Tx) error) error {
	return d.transact(ctx, op, id, func(t *tx) error { return f(t) })
}
