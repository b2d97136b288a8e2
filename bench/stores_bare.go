//go:build linux

package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
	modernc "modernc.org/sqlite"
)

// bareFile appends to a plain file and syncs the file, which is the minimal cost of durability.
type bareFile struct{ f *os.File }

func newBareFile(path string) (*bareFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return &bareFile{f}, err
}

func (b *bareFile) append(p []byte) error {
	if _, err := b.f.Write(p); err != nil {
		return err
	}
	return unix.Fdatasync(int(b.f.Fd()))
}

// bareFiles has one file for each writer.
type bareFiles []*bareFile

func newBareFiles(dir string) (bareFiles, error) {
	var all bareFiles
	for i := range writers {
		f, err := newBareFile(filepath.Join(dir, fmt.Sprint("bare-", i)))
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all = append(all, f)
	}
	return all, nil
}

func (b bareFiles) append(_ context.Context, writer int, p []byte) error { return b[writer].append(p) }

func (b bareFiles) Close() (err error) {
	for _, f := range b {
		err = errors.Join(err, f.f.Close())
	}
	return err
}

// bareSQLite inserts rows, each in its own transaction, on one connection: SQLite has one writer.
// It uses the driver directly, without database/sql.
type bareSQLite struct {
	mu     sync.Mutex
	conn   driver.Conn
	insert driver.StmtExecContext
	close  func() error
	args   []driver.NamedValue
}

func newBareSQLite(ctx context.Context, path string) (*bareSQLite, error) {
	connector, err := modernc.NewConnector("file://" + path)
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	const setup = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE bare (n INTEGER PRIMARY KEY, payload BLOB)`
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, setup, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s, err := conn.Prepare("INSERT INTO bare (payload) VALUES (?)")
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &bareSQLite{conn: conn, insert: s.(driver.StmtExecContext), close: s.Close, args: []driver.NamedValue{{Ordinal: 1}}}, nil
}

func (b *bareSQLite) append(ctx context.Context, _ int, p []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.args[0].Value = p
	_, err := b.insert.ExecContext(ctx, b.args)
	return err
}

// group inserts n rows in one transaction.
func (b *bareSQLite) group(ctx context.Context, n int, p []byte) error {
	exec := func(sql string) error {
		_, err := b.conn.(driver.ExecerContext).ExecContext(ctx, sql, nil)
		return err
	}
	if err := exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for range n {
		if err := b.append(ctx, 0, p); err != nil {
			return err
		}
	}
	return exec("COMMIT")
}

func (b *bareSQLite) Close() error { return errors.Join(b.close(), b.conn.Close()) }
