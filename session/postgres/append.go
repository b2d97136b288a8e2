package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// maxPayload bounds the payloads of a batch together: a message of the protocol, and a
// value, have less than 1 GiB.
const maxPayload = 1_000_000_000

// The statement of every append: it compares head and lease and changes the meta on the
// row that it locks, and inserts the records if that was done. Both or nothing: a
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
			Detail: fmt.Sprintf("a batch of %d bytes, at most %d fit", size, maxPayload),
		}
	}
	if b.Delta.Opened != nil {
		return s.open(ctx, id, &b)
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
		for range 3 { // what has changed may have changed back while it was asked why
			err := c.QueryRow(ctx, sql, st.Args...).Scan(&num)
			if err == nil {
				s.grown(num)
				return nil
			}
			if !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			if again, err := refusal(ctx, c, id, &b); !again {
				return err
			}
		}
		return &session.Error{Op: "append", Session: id, Err: session.ErrConflict}
	})
}

// columns are those of one record.
func columns(r *session.Record) []any {
	return []any{r.Seq, r.ID, r.Time.UnixMilli(), []byte(r.Kind), rows.Chain(r), rows.Payload(r)}
}

// arrays are the columns of several.
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

// refusal says why a batch did not fit: nil when it is there already. Again is true when
// it fits now.
func refusal(ctx context.Context, c *pgxpool.Conn, id string, b *session.Batch) (again bool, err error) {
	var num, head, epoch int64
	err = c.QueryRow(ctx, `SELECT num, head, epoch FROM sessions WHERE id = $1 AND deleted = 0`, []byte(id)).Scan(&num, &head, &epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, rows.NotFound("append", id)
	}
	if err != nil {
		return false, err
	}
	if same, err := present(ctx, c, num, b.Records); err != nil || same {
		return false, err
	}
	switch {
	case b.Epoch != 0 && epoch == 0:
		return false, rows.Fenced("append", id, "the lease was given back")
	case b.Epoch != 0 && epoch != b.Epoch:
		return false, rows.Fenced("append", id, fmt.Sprintf("epoch %d, now %d", b.Epoch, epoch))
	case head != b.Expect:
		return false, &session.Error{Op: "append", Session: id, Seq: head, Err: session.ErrConflict}
	}
	return true, nil
}

// queryer is a connection or a transaction.
type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// present reports whether all the records are there already.
func present(ctx context.Context, c queryer, num int64, records []session.Record) (bool, error) {
	first, n := records[0].Seq, 0
	found, err := c.Query(ctx, `SELECT seq, substr(chain, 65) FROM records WHERE num = $1 AND seq BETWEEN $2 AND $3`,
		num, first, first+int64(len(records))-1)
	if err != nil {
		return false, err
	}
	defer found.Close()
	for found.Next() {
		var seq int64
		var digest []byte
		if err := found.Scan(&seq, &digest); err != nil {
			return false, err
		}
		if bytes.Equal(digest, records[seq-first].Digest[:]) {
			n++
		}
	}
	return n == len(records), found.Err()
}

// open creates a session with its first batch.
func (s *Store) open(ctx context.Context, id string, b *session.Batch) error {
	var num int64
	err := s.tx(ctx, "create", id, func(tx pgx.Tx, _ bool) (err error) {
		num, err = s.create(ctx, tx, id, b)
		return err
	})
	if err == nil && num != 0 {
		s.grown(num)
	}
	return err
}

// create returns the number of the new session, or 0 when it is there already, digest
// for digest.
func (s *Store) create(ctx context.Context, tx pgx.Tx, id string, b *session.Batch) (num int64, err error) {
	if err := s.lock(ctx, tx, id); err != nil {
		return 0, err
	}
	var deleted int64
	err = tx.QueryRow(ctx, `SELECT num, deleted FROM sessions WHERE id = $1`, []byte(id)).Scan(&num, &deleted)
	if err == nil {
		same, err := present(ctx, tx, num, b.Records)
		if err != nil || same && deleted == 0 {
			return 0, err
		}
		return 0, &session.Error{Op: "create", Session: id, Err: session.ErrExists}
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return 0, err
	}
	epoch, err := epochOf(ctx, tx, id)
	if err != nil {
		return 0, err
	}
	m := session.Meta{}.Apply(b.Delta)
	switch {
	case b.Epoch != 0 && epoch != b.Epoch:
		return 0, rows.Fenced("create", id, fmt.Sprintf("epoch %d, now %d", b.Epoch, epoch))
	case b.Expect != m.ParentSeq:
		return 0, &session.Error{Op: "create", Session: id, Seq: m.ParentSeq, Err: session.ErrConflict}
	case m.Parent != "":
		if err := checkBase(ctx, tx, b.Delta.Opened.Base); err != nil {
			return 0, err
		}
	}
	st := dialect.Statement(24).Add(`INSERT INTO sessions (`+rows.Columns+`, epoch) VALUES (`+rows.Marks+`, ?) RETURNING num`,
		append(dialect.Values(&m), epoch)...)
	if err := tx.QueryRow(ctx, st.SQL(), st.Args...).Scan(&num); err != nil {
		return 0, err
	}
	st = dialect.Statement(7).Add(insertMany, append([]any{num}, arrays(b.Records)...)...)
	_, err = tx.Exec(ctx, st.SQL(), st.Args...)
	return num, err
}

// checkBase makes sure that a fork's parent was not deleted meanwhile, nor will be before
// the fork is there: from then on its records are kept for it.
func checkBase(ctx context.Context, tx pgx.Tx, b *session.Base) error {
	var head int64
	err := tx.QueryRow(ctx, `SELECT head FROM sessions WHERE id = $1 AND deleted = 0 FOR SHARE`, []byte(b.Parent)).Scan(&head)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return rows.NotFound("fork", b.Parent)
	case err != nil:
		return err
	case head < b.Seq:
		return &session.Error{Op: "fork", Session: b.Parent, Seq: head, Err: session.ErrConflict}
	}
	return nil
}
