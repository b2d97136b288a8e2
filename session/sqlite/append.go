package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
)

// The statement of every append: it compares head and lease and changes the
// meta in one go, as [session.Meta.Apply] does. The patched form is for batches
// with a meta.changed record, the asking one for those with approvals, those of a run
// and of the trash for what changes them; the plain one leaves their indexes alone.
const (
	advance = `UPDATE sessions SET head = ?, head_digest = ?, updated_ms = ?, size = size + ?,
  messages = messages * ? + ?,
  first_prompt = CASE first_prompt WHEN '' THEN ? ELSE first_prompt END,
  model = coalesce(?, model)`
	advancePatch = `,
  title = coalesce(?, title), summary = coalesce(?, summary), tag = coalesce(?, tag),
  cwd = coalesce(?, cwd), project = coalesce(?, project), git_branch = coalesce(?, git_branch)`
	advanceReplaced = `, first_prompt = ?`
	advanceAsking   = `, questions = questions + ?`
	advanceRun      = `, run = ?`
	advanceTrash    = `, trashed = ?`
	advanceWhere    = ` WHERE num = ? AND id = ? AND head = ? AND deleted = 0`
	advanceLeased   = ` AND (SELECT epoch FROM leases WHERE leases.id = sessions.id) = ?`

	insertRecord = `INSERT INTO records (key, id, time_ms, kind, chain, payload) VALUES (?, ?, ?, ?, ?, ?)`
)

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	if err := checkBatch(id, &b); err != nil {
		return err
	}
	return s.write(ctx, "append", id, func(c *conn) error {
		if b.Delta.Opened != nil {
			return c.open(id, &b)
		}
		return c.append(id, &b)
	})
}

// maxPayload is SQLite's limit for a row, less the other columns.
const maxPayload = 1_000_000_000 - 4096

func checkBatch(id string, b *session.Batch) error {
	bad := func(format string, args ...any) error {
		return &session.Error{Op: "append", Session: id, Err: session.ErrInvalid, Detail: fmt.Sprintf(format, args...)}
	}
	if len(b.Records) == 0 {
		return bad("the batch has no records")
	}
	for i := range b.Records {
		switch r := &b.Records[i]; {
		case r.Seq != b.Expect+int64(i)+1:
			return bad("record %d of the batch has seq %d, want %d", i, r.Seq, b.Expect+int64(i)+1)
		case r.Seq > maxSeq:
			return bad("seq %d is greater than %d", r.Seq, maxSeq)
		case len(r.Payload) > maxPayload:
			return bad("a payload of %d bytes, at most %d fit", len(r.Payload), maxPayload)
		case b.Epoch == 0 && b.Delta.Opened == nil && !r.Kind.Shared():
			return &session.Error{
				Op: "append", Session: id, Err: session.ErrFenced,
				Detail: "a record of kind " + string(r.Kind) + " needs a lease",
			}
		}
	}
	if o := b.Delta.Opened; o != nil && o.SessionID != id {
		return bad("the batch opens session %q", o.SessionID)
	}
	return nil
}

// append adds a batch to an existing session.
func (c *conn) append(id string, b *session.Batch) error {
	num, known := c.nums[id]
	if !known {
		r, err := c.row("SELECT num FROM sessions WHERE id = ?", id)
		if err != nil {
			return err
		}
		if r == nil {
			return notFound("append", id)
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
	d := &b.Delta
	keep := int64(1)
	if d.Reset {
		keep = 0
	}
	var model any
	if d.LastModel != "" {
		model = d.LastModel
	}
	if d.Patch != nil && d.Patch.Model != nil {
		model = *d.Patch.Model
	}
	sql := advance
	args := append(make([]any, 0, 23),
		d.Head, d.Digest[:], d.Updated.UnixMilli(), d.Bytes, keep, int64(d.Messages), d.Prompt, model)
	if p := d.Patch; p != nil {
		sql += advancePatch
		for _, v := range []*string{p.Title, p.Summary, p.Tag, p.CWD, p.Project, p.GitBranch} {
			if v == nil {
				args = append(args, nil)
			} else {
				args = append(args, *v)
			}
		}
	}
	if d.Replaced != nil {
		prompt := *d.Replaced
		if prompt == "" {
			prompt = d.Prompt
		}
		sql += advanceReplaced // the later of two assignments counts
		args = append(args, prompt)
	}
	if d.Questions != 0 {
		sql += advanceAsking
		args = append(args, int64(d.Questions))
	}
	if d.Run != "" {
		sql += advanceRun
		args = append(args, d.Run)
	}
	if d.Patch != nil && d.Patch.Trashed != nil {
		sql += advanceTrash
		args = append(args, *d.Patch.Trashed)
	}
	sql += advanceWhere
	args = append(args, num, id, b.Expect)
	if b.Epoch != 0 {
		sql += advanceLeased
		args = append(args, b.Epoch)
	}
	return c.exec(sql, args...)
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
	if _, err := c.exec(insertMeta, metaArgs(m)...); err != nil {
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
		return notFound("fork", b.Parent)
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
		return notFound("append", id)
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
		return fenced("append", id, "the lease was given back")
	}
	if now := asInt(r[0]); now != epoch {
		return fenced("append", id, fmt.Sprintf("epoch %d, now %d", epoch, now))
	}
	return nil
}

func fenced(op, id, detail string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrFenced, Detail: detail}
}

func notFound(op, id string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrNotFound}
}
