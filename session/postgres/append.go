package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// maxPayload is the maximum size of a batch's payloads: a protocol message, and a
// value, must be smaller than 1 GiB.
const maxPayload = 1_000_000_000

// The statement of every append: it compares head and lease, updates the meta in the
// row that it locks, and inserts the records if that succeeded. It is atomic, because a
// statement is a transaction.
const (
	appendWhere  = ` WHERE id = ? AND head = ? AND deleted = 0`
	appendLeased = ` AND epoch = ?`
	appendOne    = ` RETURNING num)
INSERT INTO records (num, seq, id, time_ms, kind, chain, payload)
SELECT s.num, ?::bigint, ?::bytea, ?::bigint, ?::text, ?::bytea, ?::bytea FROM s RETURNING num`
	appendMany = ` RETURNING num)
INSERT INTO records (num, seq, id, time_ms, kind, chain, payload)
SELECT s.num, r.* FROM s, unnest(?::bigint[], ?::bytea[], ?::bigint[], ?::text[], ?::bytea[], ?::bytea[]) AS r
RETURNING num`
	insertMany = `INSERT INTO records (num, seq, id, time_ms, kind, chain, payload)
SELECT ?::bigint, r.* FROM unnest(?::bigint[], ?::bytea[], ?::bigint[], ?::text[], ?::bytea[], ?::bytea[]) AS r`
)

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	if err := rows.Check(id, &b, maxPayload); err != nil {
		return err
	}
	size := 0
	for i := range b.Records {
		size += len(b.Records[i].Payload)
	}
	if size > maxPayload {
		return &session.Error{
			Op: "append", Session: id, Err: session.ErrInvalid,
			Detail: fmt.Sprintf("the batch has %d bytes; the maximum is %d", size, maxPayload),
		}
	}
	if b.Delta.Opened != nil {
		return s.create(ctx, id, &b)
	}
	st := dialect.Advance(&b.Delta).Add(appendWhere, id, b.Expect)
	if b.Epoch != 0 {
		st.Add(appendLeased, b.Epoch)
	}
	if len(b.Records) == 1 {
		st.Add(appendOne, columns(&b.Records[0])...)
	} else {
		st.Add(appendMany, arrays(b.Records)...)
	}
	sql := "WITH s AS (" + st.SQL()
	return s.do(ctx, "append", id, func(c *pgxpool.Conn, _ bool) error {
		var num int64
		for range 3 { // the cause may have disappeared before this function looked for it
			err := c.QueryRow(ctx, sql, st.Args...).Scan(&num)
			if err == nil {
				s.grown(num)
				return nil
			}
			if !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			if again, err := dialect.Refusal(tx{ctx: ctx, q: c}, id, &b); !again {
				return err
			}
		}
		return &session.Error{Op: "append", Session: id, Err: session.ErrConflict}
	})
}

// columns returns the column values of one record.
func columns(r *session.Record) []any {
	return []any{r.Seq, r.ID, r.Time.UnixMilli(), []byte(r.Kind), rows.Chain(r), rows.Payload(r)}
}

// arrays returns the column values of several records.
func arrays(records []session.Record) []any {
	n := len(records)
	seqs, times := make([]int64, n), make([]int64, n)
	ids, chains, payloads := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	kinds := make([]string, n)
	for i := range records {
		r := &records[i]
		seqs[i], times[i], ids[i], kinds[i] = r.Seq, r.Time.UnixMilli(), []byte(r.ID), string(r.Kind)
		chains[i], payloads[i] = rows.Chain(r), r.Payload
	}
	return []any{seqs, ids, times, kinds, chains, payloads}
}

// create creates a session with its first batch.
func (s *Store) create(ctx context.Context, id string, b *session.Batch) error {
	var num int64 // 0 if the session already exists
	err := s.transact(ctx, "create", id, func(t tx) error {
		num = 0
		if err := s.lock(t, "create", id); err != nil {
			return err
		}
		m, err := dialect.Create(t, id, b)
		if err != nil || m == nil {
			return err
		}
		var epoch int64
		err = t.q.QueryRow(ctx, `SELECT coalesce(max(epoch), 0) FROM leases WHERE id = $1`, []byte(id)).Scan(&epoch)
		if err == nil && b.Epoch != 0 {
			err = rows.CheckEpoch("create", id, b.Epoch, epoch)
		}
		if err != nil {
			return err
		}
		st := dialect.Statement(24).Add(`INSERT INTO sessions (`+rows.Columns+`, epoch) VALUES (`+rows.Marks+`, ?) RETURNING num`,
			append(dialect.Values(m), epoch)...)
		if err := t.q.QueryRow(ctx, st.SQL(), st.Args...).Scan(&num); err != nil {
			return err
		}
		_, err = t.Exec(insertMany, append([]any{num}, arrays(b.Records)...)...)
		return err
	})
	if err == nil && num != 0 {
		s.grown(num)
	}
	return err
}
