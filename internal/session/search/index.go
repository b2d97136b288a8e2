package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // registers itself with database/sql

	"github.com/holdfast-dev/holdfast/session"
)

// version is the version of the file. A file of another version is recreated from the log.
const version = 1

// schema creates the tables. words contains only positions, no text; entries describes the item of
// each row of words.
const schema = `
CREATE TABLE sessions (
  num     INTEGER PRIMARY KEY,
  id      TEXT    NOT NULL UNIQUE,
  head    INTEGER NOT NULL,
  digest  BLOB    NOT NULL,
  uses    TEXT    NOT NULL,
  title   TEXT    NOT NULL,
  project TEXT    NOT NULL,
  cwd     TEXT    NOT NULL,
  trashed INTEGER NOT NULL
) STRICT;
CREATE TABLE entries (
  row     INTEGER PRIMARY KEY,
  num     INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  origin  INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  role    TEXT    NOT NULL,
  tool    TEXT    NOT NULL,
  whole   INTEGER NOT NULL,
  parts   TEXT    NOT NULL
) STRICT;
CREATE INDEX places ON entries (num, seq);
CREATE VIRTUAL TABLE words USING fts5(text, content = '', contentless_delete = 1, prefix = '2 3',
  tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'");
`

// Index is a search index of a store's transcripts, a [session.Searcher]. It is safe for
// concurrent use, also by several processes. Create one with [Open].
type Index struct {
	db    *sql.DB
	store session.Store
	path  string
}

var _ session.Searcher = (*Index)(nil)

// Open opens the index in the file at path. If the file does not exist, is damaged or has another
// version, Open creates a new one with mode 0600: the index contains only data that the store has
// too. A new index is empty until [Index.Index] is called. Missing parent folders get mode 0700.
func Open(ctx context.Context, path string, store session.Store) (*Index, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, failed("open index", err)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return nil, failed("open index", err)
	}
	x := &Index{store: store, path: abs}
	if err = x.open(ctx); err == nil {
		return x, nil
	}
	if !replaceable(err) {
		return nil, failed("open index", err)
	}
	if err := x.remove(); err != nil {
		return nil, failed("open index", err)
	}
	if err := x.open(ctx); err != nil {
		return nil, failed("open index", err)
	}
	return x, nil
}

// errFormat means that a file has another version or is not an index.
var errFormat = errors.New("the file is not an index of this version")

func replaceable(err error) bool {
	return errors.Is(err, errFormat) || strings.Contains(err.Error(), "malformed") || strings.Contains(err.Error(), "not a database")
}

func (x *Index) open(ctx context.Context) (err error) {
	f, err := os.OpenFile(x.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil { // before SQLite locks it
		return err
	}
	q := url.Values{"_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "secure_delete(ON)", "cache_size(-4096)",
	}, "_txlock": {"immediate"}}
	if x.db, err = sql.Open("sqlite", "file:"+(&url.URL{Path: x.path}).EscapedPath()+"?"+q.Encode()); err != nil {
		return err
	}
	if err := x.setUp(ctx); err != nil {
		return errors.Join(err, x.db.Close())
	}
	return nil
}

func (x *Index) setUp(ctx context.Context) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // has no effect after the commit
	var is, tables int
	if err := tx.QueryRowContext(ctx, "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version").Scan(&is, &tables); err != nil {
		return err
	}
	switch {
	case is == version:
		return nil
	case tables != 0:
		return errFormat
	}
	if _, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
		return err
	}
	return tx.Commit()
}

// remove deletes the file and SQLite's files next to it.
func (x *Index) remove() error {
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(x.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close closes the file. A second call does nothing.
func (x *Index) Close() error {
	if err := x.db.Close(); err != nil {
		return failed("close index", err)
	}
	return nil
}

func failed(op string, err error) error {
	if _, ok := errors.AsType[*session.Error](err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &session.Error{Op: op, Err: err, Hint: "delete the index; it is recreated from the log"}
}
