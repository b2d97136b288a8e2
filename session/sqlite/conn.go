package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	modernc "modernc.org/sqlite"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
)

// conn is one connection with its prepared statements, used by one goroutine at a time. It calls
// the driver directly: with database/sql, each statement would also need a connection from its
// pool, conversions, and a goroutine for a query that can be cancelled.
type conn struct {
	raw   driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
	nums  map[string]int64 // cache of session id → num, for the writer

	unsynced bool // commits do not wait for the disk
}

func dial(path string, busy time.Duration) (*conn, error) {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	u := url.URL{Scheme: "file", Path: p}
	vfs, err := vfsName()
	if err != nil {
		return nil, err
	}
	connector, err := modernc.NewConnector(u.String() + "?mode=rw&_error_rc=1&vfs=" + vfs)
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, stmts: map[string]driver.Stmt{}, nums: map[string]int64{}}
	if _, err := raw.(modernc.FileControl).FileControlPersistWAL("main", 1); err != nil {
		c.close()
		return nil, err
	}
	if err := c.script("PRAGMA busy_timeout = " + strconv.FormatInt(busy.Milliseconds(), 10) + ";" + pragmas); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// script runs statements without parameters and results, without preparing them.
func (c *conn) script(sql string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), sql, nil)
	return err
}

// sync sets whether later commits wait for the disk. On a new connection they do.
func (c *conn) sync(wait bool) error {
	if c.unsynced == !wait {
		return nil
	}
	mode := "NORMAL"
	if wait {
		mode = "FULL"
	}
	err := c.script("PRAGMA synchronous = " + mode) // not prepared: the pragma takes effect when it is compiled
	if err == nil {
		c.unsynced = !wait
	}
	return err
}

func (c *conn) prepare(sql string) (driver.Stmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, err := c.raw.Prepare(sql)
	if err != nil {
		return nil, err
	}
	c.stmts[sql] = s
	return s, nil
}

// bind numbers args. The result is valid until the next call.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a prepared statement and returns the number of changed rows. Args are int64, string,
// []byte or nil.
func (c *conn) exec(sql string, args ...any) (int64, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	res, err := s.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query calls the function each for every row, until it returns false. The row slice is reused; its
// values may be kept.
func (c *conn) query(sql string, each func(row []driver.Value) bool, args ...any) error {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	found, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return err
	}
	defer found.Close()
	row := make([]driver.Value, len(found.Columns()))
	for {
		switch err := found.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !each(row):
			return nil
		}
	}
}

// row returns the first row of a query, or nil if there is none.
func (c *conn) row(sql string, args ...any) ([]driver.Value, error) {
	var out []driver.Value
	err := c.query(sql, func(r []driver.Value) bool {
		out = append(out, r...)
		return false
	}, args...)
	return out, err
}

// Exec implements [rows.Tx].
func (c *conn) Exec(sql string, args ...any) (int64, error) { return c.exec(sql, args...) }

// Query implements [rows.Tx].
func (c *conn) Query(sql string, args, dest []any, row func() bool) error {
	return c.query(sql, func(r []driver.Value) bool {
		for i, v := range r {
			switch d := dest[i].(type) {
			case *int64:
				*d = asInt(v)
			case *string:
				*d = asText(v)
			case *[]byte:
				if text, ok := v.(string); ok {
					v = []byte(text)
				}
				*d = asBlob(v)
			}
		}
		return row()
	}, args...)
}

// MayBeRetry implements [rows.Tx]: a connection to a file cannot be lost.
func (c *conn) MayBeRetry() bool { return false }

// database provides connections to the shared methods of [rows.SQLStore].
type database struct {
	*Store
	unsynced bool // writes do not wait for the disk
}

func (d database) Read(ctx context.Context, op, id string, f func(rows.Tx) error) error {
	return d.read(ctx, op, id, func(c *conn) error { return f(c) })
}

func (d database) Write(ctx context.Context, op, id string, f func(rows.Tx) error) error {
	return d.writeAs(ctx, op, id, d.unsynced, func(c *conn) error { return f(c) })
}

func (d database) Transact(ctx context.Context, op, id string, f func(rows.Tx) error) error {
	return d.Write(ctx, op, id, f)
}

// pragma reads an integer pragma.
func (c *conn) pragma(name string) (int64, error) {
	r, err := c.row("PRAGMA " + name)
	if err != nil || len(r) == 0 {
		return 0, err
	}
	return asInt(r[0]), nil
}

func (c *conn) close() error {
	for _, s := range c.stmts {
		s.Close()
	}
	return c.raw.Close()
}

func asInt(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

func asText(v driver.Value) string {
	s, _ := v.(string)
	return s
}

func asBlob(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}
