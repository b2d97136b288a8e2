//go:build linux

package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"time"

	modernc "modernc.org/sqlite"
)

// bareTables returns the rate at which one thread writes the store's rows for items into the tables
// of a closed store. Each transaction has one item of each session; digests, lease checks, head
// checks and wakeups are left out. This is the cost of the format alone.
func bareTables(ctx context.Context, dir string, groups int, payload []byte) (rate float64, err error) {
	connector, err := modernc.NewConnector("file://" + filepath.Join(dir, "sessions.db"))
	if err != nil {
		return 0, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	exec := func(sql string) error {
		_, err := conn.(driver.ExecerContext).ExecContext(ctx, sql, nil)
		return err
	}
	if err := exec("PRAGMA synchronous = FULL; PRAGMA cache_size = -4096"); err != nil {
		return 0, err
	}
	var stmts [2]driver.Stmt
	for i, sql := range []string{
		`UPDATE sessions SET head = head + 1, head_digest = ?, updated_ms = ?, size = size + ?, messages = messages + 1 WHERE num = ?`,
		`INSERT INTO records (key, id, time_ms, kind, chain, payload) VALUES (? << 32 | ?, ?, ?, 'item', ?, ?)`,
	} {
		if stmts[i], err = conn.Prepare(sql); err != nil {
			return 0, err
		}
		defer stmts[i].Close()
	}
	run := func(i int, args ...any) error {
		named := make([]driver.NamedValue, len(args))
		for i, a := range args {
			named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
		}
		_, err := stmts[i].(driver.StmtExecContext).ExecContext(ctx, named)
		return err
	}
	const id, beyond = "01M8GQ8MMKBDDFGF71ZGXBZ2VX", 1 << 20 // sequence numbers that no session uses yet
	digest, chain := make([]byte, 32), make([]byte, 96)
	t0 := time.Now()
	for g := range int64(groups) {
		if err := exec("BEGIN IMMEDIATE"); err != nil {
			return 0, err
		}
		for num := range int64(writers) {
			now := t0.UnixMilli() + g
			if err := run(0, digest, now, int64(len(payload)), num+1); err != nil {
				return 0, err
			}
			if err := run(1, num+1, beyond+g, id, now, chain, payload); err != nil {
				return 0, err
			}
		}
		if err := exec("COMMIT"); err != nil {
			return 0, err
		}
	}
	return float64(writers*groups) / time.Since(t0).Seconds(), nil
}
