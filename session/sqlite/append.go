package sqlite

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// The end of every append's statement: it compares head and lease and updates the
// meta in one statement, as [session.Meta.Apply] does.
const (
	advanceWhere = ` WHERE num = ? AND id = ? AND head = ? AND deleted = 0`
	// advancePlain is the whole statement for a batch that has a lease and for which
	// [rows.IsItemsOnly] is true.
	advancePlain = `UPDATE sessions SET head = ?, head_digest = ?, updated_ms = ?, size = size + ?, messages = messages + ?,
  model = coalesce(?, model), first_prompt = CASE first_prompt WHEN '' THEN ? ELSE first_prompt END` + advanceWhere + advanceLeased
	advanceLeased = ` AND (SELECT epoch FROM leases WHERE leases.id = sessions.id) = ?`

	insertMeta   = `INSERT INTO sessions (` + rows.Columns + `) VALUES (` + rows.Marks + `)`
	insertRecord = `INSERT INTO records (key, id, time_ms, kind, chain, payload) VALUES (?, ?, ?, ?, ?, ?)`
)

// dialect is SQLite's dialect.
var dialect = rows.Dialect{
	Hint:       func(index string) string { return "INDEXED BY " + index + " " },
	Unbuffered: true,
	Key:        true,
	CountEpoch: "UPDATE epochs SET last = last + 1",
	NextEpoch:  "SELECT last FROM epochs",
}

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	if err := rows.Check(id, &b, maxPayload); err != nil {
		return err
	}
	err := s.write(ctx, "append", id, func(c *conn) error {
		if b.Delta.Opened != nil {
			return c.create(id, &b)
		}
		return c.append(id, &b)
	})
	if err == nil {
		s.watchers.Notify(id)
	}
	return err
}

// maxPayload is SQLite's limit for a row, minus the size of the other columns.
const maxPayload = 1_000_000_000 - 4096

// append adds a batch to an existing session.
func (c *conn) append(id string, b *session.Batch) error {
	num, known := c.nums[id]
	if !known {
		r, err := c.row("SELECT num FROM sessions WHERE id = ?", id)
		if err != nil {
			return err
		}
		if r == nil {
			return rows.NotFound("append", id)
		}
		num = asInt(r[0])
	}
	changed, err := c.advance(num, id, b)
	if err != nil {
		return err
	}
	if changed == 0 {
		delete(c.nums, id)
		if known { // another process may have recreated the session
			return c.append(id, b)
		}
		_, err := dialect.Refusal(c, id, b) // it is not a retry, because this is the only writer
		return err
	}
	if !known {
		if len(c.nums) >= 4096 {
			clear(c.nums)
		}
		c.nums[id] = num
	}
	return c.insert(num, b.Records)
}

func (c *conn) advance(num int64, id string, b *session.Batch) (int64, error) {
	if d := &b.Delta; b.Epoch != 0 && rows.IsItemsOnly(d) {
		return c.exec(advancePlain, d.Head, d.Digest[:], d.Updated.UnixMilli(), d.Bytes, int64(d.Messages),
			rows.Model(d), d.Prompt, num, id, b.Expect, b.Epoch)
	}
	s := dialect.Advance(&b.Delta).Add(advanceWhere, num, id, b.Expect)
	if b.Epoch != 0 {
		s.Add(advanceLeased, b.Epoch)
	}
	return c.exec(s.SQL(), s.Args...)
}

func (c *conn) insert(num int64, records []session.Record) error {
	for i := range records {
		r := &records[i]
		if _, err := c.exec(insertRecord,
			num<<seqBits|r.Seq, r.ID, r.Time.UnixMilli(), string(r.Kind), rows.Chain(r), rows.Payload(r)); err != nil {
			return err
		}
	}
	return nil
}

// create creates a session with its first batch.
func (c *conn) create(id string, b *session.Batch) error {
	m, err := dialect.Create(c, id, b)
	if err != nil || m == nil {
		return err
	}
	if b.Epoch != 0 {
		r, err := c.row("SELECT coalesce(max(epoch), 0) FROM leases WHERE id = ?", id)
		if err != nil {
			return err
		}
		if err := rows.CheckEpoch("create", id, b.Epoch, asInt(r[0])); err != nil {
			return err
		}
	}
	if _, err := c.exec(insertMeta, dialect.Values(m)...); err != nil {
		return err
	}
	r, err := c.row("SELECT num FROM sessions WHERE id = ?", id)
	if err != nil {
		return err
	}
	return c.insert(asInt(r[0]), b.Records)
}
