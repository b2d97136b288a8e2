package rows

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
)

// MaxSeq is the maximum seq of a record, so that it fits into 32 bits.
const MaxSeq = 1<<32 - 1

// Check returns, as a [session.Error], why a batch can never be appended to session id: ErrInvalid
// if it is malformed or a payload has more than maxPayload bytes, ErrFenced if it needs a lease.
func Check(id string, b *session.Batch, maxPayload int) error {
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
		case r.Seq > MaxSeq:
			return bad("seq %d is greater than %d", r.Seq, int64(MaxSeq))
		case len(r.Payload) > maxPayload:
			return bad("a payload has %d bytes; the maximum is %d", len(r.Payload), maxPayload)
		case b.Epoch == 0 && b.Delta.Opened == nil && !r.Kind.Shared():
			return Fenced("append", id, "a record of kind "+string(r.Kind)+" needs a lease")
		}
	}
	if o := b.Delta.Opened; o != nil && o.SessionID != id {
		return bad("the batch creates another session, %q", o.SessionID)
	}
	return nil
}

const (
	advance = `UPDATE sessions SET head = ?, head_digest = ?, updated_ms = ?, size = size + ?,
  messages = messages * ? + ?, model = coalesce(?, model)`
	advancePrompt   = `, first_prompt = CASE first_prompt WHEN '' THEN ? ELSE first_prompt END`
	advanceReplaced = `, first_prompt = ?`
	advancePatch    = `,
  title = coalesce(?, title), summary = coalesce(?, summary), tag = coalesce(?, tag),
  cwd = coalesce(?, cwd), project = coalesce(?, project), git_branch = coalesce(?, git_branch)`
	advanceApprovals = `, questions = questions + ?`
	advanceRun       = `, run = ?`
	advanceTrash     = `, trashed = ?`
)

// Advance starts the statement that changes a session's row as [session.Meta.Apply] does: an
// UPDATE up to its WHERE. The statement names only the columns that the batch changes, so that
// indexes of other columns need no update.
func (d *Dialect) Advance(b *session.Delta) *Statement {
	keep := int64(1)
	if b.Reset {
		keep = 0
	}
	s := d.Statement(24).Add(advance, b.Head, b.Digest[:], b.Updated.UnixMilli(), b.Bytes, keep, int64(b.Messages), Model(b))
	switch {
	case b.Replaced == nil:
		s.Add(advancePrompt, b.Prompt)
	case *b.Replaced == "":
		s.Add(advanceReplaced, b.Prompt)
	default:
		s.Add(advanceReplaced, *b.Replaced)
	}
	if p := b.Patch; p != nil {
		s.Add(advancePatch, nullable(p.Title), nullable(p.Summary), nullable(p.Tag), nullable(p.CWD), nullable(p.Project), nullable(p.GitBranch))
		if p.Trashed != nil {
			s.Add(advanceTrash, *p.Trashed)
		}
	}
	if b.OpenApprovals != 0 {
		s.Add(advanceApprovals, int64(b.OpenApprovals))
	}
	if b.Run != "" {
		s.Add(advanceRun, b.Run)
	}
	return s
}

// IsItemsOnly reports whether a batch changes only the columns that items change, so that one
// prepared statement is enough.
func IsItemsOnly(d *session.Delta) bool {
	return d.Opened == nil && !d.Reset && d.Patch == nil && d.Replaced == nil && d.OpenApprovals == 0 && d.Run == ""
}

// Model returns the model that a batch sets, NULL for none.
func Model(d *session.Delta) any {
	switch {
	case d.Patch != nil && d.Patch.Model != nil:
		return *d.Patch.Model
	case d.LastModel != "":
		return d.LastModel
	}
	return nil
}

// nullable returns NULL for a field that a patch does not change.
func nullable(p *string) any {
	if p == nil {
		return nil
	}
	return *p
}

// Fenced returns the error for a writer that does not have the lease.
func Fenced(op, id, detail string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrFenced, Detail: detail}
}

// NotFound returns the error for a missing session.
func NotFound(op, id string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrNotFound}
}
