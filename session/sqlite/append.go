package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// The end of the statement of every append: it compares head and lease and changes the
// meta in one go, as [session.Meta.Apply] does.
const (
	advanceWhere = ` WHERE num = ? AND id = ? AND head = ? AND deleted = 0`
	// advancePlain is the whole of it for a batch that is [rows.Plain] and has a lease.
	advancePlain = `UPDATE sessions SET head = ?, head_digest = ?, updated_ms = ?, size = size + ?, messages = messages + ?,
  model = coalesce(?, model), first_prompt = CASE first_prompt WHEN '' THEN ? ELSE first_prompt END` + advanceWhere + advanceLeased
	advanceLeased = ` AND (SELECT epoch FROM leases WHERE leases.id = sessions.id) = ?`

	insertRecord = `INSERT INTO records (key, id, time_ms, kind, chain, payload) VALUES (?, ?, ?, ?, ?, ?)`
)

// dialect is SQLite's.
var dialect = rows.Dialect{Hint: func(index string) string { return "INDEXED BY " + index + " " }}

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	if err := rows.Check(id, &b, maxPayload); err != nil {
		return err
	}
	err := s.write(ctx, "append", id, func(c *conn) error {
		if b.Delta.Opened != nil {
			return c.open(id, &b)
		}
		return c.append(id, &b)
	})
	if err == nil {
		s.board.Tell(id)
	}
	return err
}

// maxPayload is SQLite's limit for a row, less the other columns.
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
		if known { // another process may have made the session anew
			return c.append(id, b)
		}
		return c.refusal(id, b)
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
	if d := &b.Delta; b.Epoch != 0 && rows.Plain(d) {
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
	var chain [96]byte
	for i := range records {
		r := &records[i]
		copy(chain[:32], r.Prev[:])
		copy(chain[32:64], r.Body[:])
		copy(chain[64:], r.Digest[:])
		var payload any
		if r.Payload != nil {
			payload = []byte(r.Payload)
		}
		if _, err := c.exec(insertRecord,
			num<<seqBits|r.Seq, r.ID, r.Time.UnixMilli(), string(r.Kind), chain[:], payload); err != nil {
			return err
		}
	}
	return nil
}

// open creates a session with its first batch.
func (c *conn) open(id string, b *session.Batch) error {
	r, err := c.row("SELECT num, deleted FROM sessions WHERE id = ?", id)
	if err != nil {
		return err
	}
	if r != nil {
		same, err := c.present(asInt(r[0]), b.Records)
		if err != nil || same && asInt(r[1]) == 0 {
			return err
		}
		return &session.Error{Op: "create", Session: id, Err: session.ErrExists}
	}
	if b.Epoch != 0 {
		if err := c.checkEpoch(id, b.Epoch); err != nil {
			return err
		}
	}
	m := session.Meta{}.Apply(b.Delta)
	if b.Expect != m.ParentSeq {
		return &session.Error{Op: "create", Session: id, Seq: m.ParentSeq, Err: session.ErrConflict}
	}
	if m.Parent != "" {
		if err := c.checkBase(b.Delta.Opened.Base); err != nil {
			return err
		}
	}
	if _, err := c.exec(insertMeta, dialect.Values(&m)...); err != nil {
		return err
	}
	r, err = c.row("SELECT num FROM sessions WHERE id = ?", id)
	if err != nil {
		return err
	}
	return c.insert(asInt(r[0]), b.Records)
}

// checkBase makes sure that a fork's parent was not deleted meanwhile: from now
// on its records are kept for the fork.
func (c *conn) checkBase(b *session.Base) error {
	r, err := c.row("SELECT head FROM sessions WHERE id = ? AND deleted = 0", b.Parent)
	if err != nil {
		return err
	}
	if r == nil {
		return rows.NotFound("fork", b.Parent)
	}
	if head := asInt(r[0]); head < b.Seq {
		return &session.Error{Op: "fork", Session: b.Parent, Seq: head, Err: session.ErrConflict}
	}
	return nil
}

// refusal says why a batch did not fit.
func (c *conn) refusal(id string, b *session.Batch) error {
	r, err := c.row("SELECT num, head FROM sessions WHERE id = ? AND deleted = 0", id)
	if err != nil {
		return err
	}
	if r == nil {
		return rows.NotFound("append", id)
	}
	same, err := c.present(asInt(r[0]), b.Records)
	if err != nil || same {
		return err
	}
	if b.Epoch != 0 {
		if err := c.checkEpoch(id, b.Epoch); err != nil {
			return err
		}
	}
	return &session.Error{Op: "append", Session: id, Seq: asInt(r[1]), Err: session.ErrConflict}
}

// present reports whether all the records are there already.
func (c *conn) present(num int64, records []session.Record) (bool, error) {
	for i := range records {
		r, err := c.row("SELECT substr(chain, 65) FROM records WHERE key = ?", num<<seqBits|records[i].Seq)
		if err != nil || r == nil || !bytes.Equal(asBlob(r[0]), records[i].Digest[:]) {
			return false, err
		}
	}
	return true, nil
}

func (c *conn) checkEpoch(id string, epoch int64) error {
	r, err := c.row("SELECT epoch FROM leases WHERE id = ?", id)
	if err != nil {
		return err
	}
	if r == nil {
		return rows.Fenced("append", id, "the lease was given back")
	}
	if now := asInt(r[0]); now != epoch {
		return rows.Fenced("append", id, fmt.Sprintf("epoch %d, now %d", epoch, now))
	}
	return nil
}
