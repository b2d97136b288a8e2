package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
)

// tx is a [rows.Tx] on a connection or in a transaction.
type tx struct {
	ctx context.Context
	q   interface {
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
		QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	}
	again bool
}

func (t tx) Exec(sql string, args ...any) (int64, error) {
	st := dialect.Statement(len(args)).Add(sql, args...)
	tag, err := t.q.Exec(t.ctx, st.SQL(), st.Args...)
	return tag.RowsAffected(), err
}

func (t tx) Query(sql string, args, dest []any, row func() bool) error {
	st := dialect.Statement(len(args)).Add(sql, args...)
	found, err := t.q.Query(t.ctx, st.SQL(), st.Args...)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := found.Scan(dest...); err != nil {
			return err
		}
		if !row() {
			found.Close()
		}
	}
	return found.Err()
}

func (t tx) MayBeRetry() bool { return t.again }

// database provides connections to the shared methods of [rows.SQLStore].
type database struct{ *Store }

func (d database) Read(ctx context.Context, op, id string, f func(rows.Tx) error) error {
	return d.do(ctx, op, id, func(c *pgxpool.Conn, again bool) error { return f(tx{ctx, c, again}) })
}

func (d database) Write(ctx context.Context, op, id string, f func(rows.Tx) error) error {
	return d.Read(ctx, op, id, f)
}

func (d database) Transact(ctx context.Context, op, id string, f func(rows.Tx) error) error {
	return d.transact(ctx, op, id, func(t tx) error { return f(t) })
}

// transact is do with a transaction around f.
func (s *Store) transact(ctx context.Context, op, id string, f func(tx) error) error {
	return s.do(ctx, op, id, func(c *pgxpool.Conn, again bool) error {
		return pgx.BeginFunc(ctx, c, func(t pgx.Tx) error { return f(tx{ctx, t, again}) })
	})
}

const lockKey = `SELECT pg_advisory_xact_lock($1)`

// lock takes a lock on a session until the transaction ends. It serializes the transactions that
// use more than the session's row. For an erase it takes the lock of the session's indexing steps,
// because a step reads the payloads before it stores their words.
func (s *Store) lock(t rows.Tx, op, id string) error {
	name := "session\x00"
	if op == "erase" {
		name = "words\x00"
	}
	_, err := t.Exec(`SELECT pg_advisory_xact_lock(?)`, s.key(name+id))
	return err
}
