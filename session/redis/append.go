package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/holdfast-dev/holdfast/session"
)

// maxBatch is the maximum size of a batch in bytes: Redis reads a command as a whole.
const maxBatch = 512 << 20

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	records, largest, err := packBatch(id, &b)
	if err != nil {
		return err
	}
	if b.Delta.Opened != nil {
		return s.create(ctx, id, &b, records, largest)
	}
	d := &b.Delta
	fields := changes(d)
	prompt := d.Prompt
	if d.Replaced != nil {
		prompt = ""
	}
	args := make([]any, 0, 12+len(fields)+len(records))
	args = append(args, b.Expect, b.Epoch, d.Head, d.Digest[:], d.Updated.UnixMilli(), d.Bytes,
		d.Reset, d.Messages, d.OpenApprovals, prompt, largest, len(fields))
	args = append(append(args, fields...), records...)
	_, err = s.write(ctx, "append", id, appendScript(), args...)
	return err
}

// create creates a session with its first batch.
func (s *Store) create(ctx context.Context, id string, b *session.Batch, records []any, largest int) error {
	m := session.Meta{}.Apply(b.Delta)
	if m.ParentSeq != b.Expect {
		return &session.Error{Op: "create", Session: id, Seq: m.ParentSeq, Err: session.ErrConflict}
	}
	if y := m.CreatedAt.UTC().Year(); y < 1 || y > 9999 {
		return &session.Error{Op: "create", Session: id, Err: session.ErrInvalid, Detail: fmt.Sprintf("the year of the creation time is %d; want 0 to 9999", y)}
	}
	fields := append(metaFields(&m), "largest", strconv.Itoa(largest))
	args := append([]any{b.Expect, b.Epoch, m.Parent, len(fields)}, fields...)
	_, err := s.write(ctx, "create", id, createScript(), append(args, records...)...)
	return err
}

// changes returns the fields that a batch sets, as alternating names and values.
func changes(d *session.Delta) []any {
	var out []any
	set := func(name string, value *string) {
		if value != nil {
			out = append(out, name, *value)
		}
	}
	if d.Replaced != nil {
		if prompt := *d.Replaced; prompt != "" {
			set("prompt", &prompt)
		} else {
			set("prompt", &d.Prompt)
		}
	}
	if d.LastModel != "" {
		set("model", &d.LastModel)
	}
	if d.Run != "" {
		set("run", &d.Run)
	}
	if p := d.Patch; p != nil {
		set("title", p.Title)
		set("summary", p.Summary)
		set("tag", p.Tag)
		set("cwd", p.CWD)
		set("project", p.Project)
		set("model", p.Model)
		set("branch", p.GitBranch)
		set("trashed", p.Trashed)
	}
	return out
}

// packBatch checks a batch and encodes its records. The result largest is the size of the largest
// record in bytes.
func packBatch(id string, b *session.Batch) (records []any, largest int, err error) {
	bad := func(format string, args ...any) error {
		return &session.Error{Op: "append", Session: id, Err: session.ErrInvalid, Detail: fmt.Sprintf(format, args...)}
	}
	if err := session.CheckID(id); err != nil {
		return nil, 0, err
	}
	if len(b.Records) == 0 {
		return nil, 0, bad("the batch has no records")
	}
	if o := b.Delta.Opened; o != nil && o.SessionID != id {
		return nil, 0, bad("the batch creates another session, %q", o.SessionID)
	}
	if b.Expect < 0 || b.Expect > maxSeq-int64(len(b.Records)) {
		return nil, 0, bad("seqs after %d are too large; the maximum is %d", b.Expect, int64(maxSeq))
	}
	total := 0
	records = make([]any, len(b.Records))
	for i := range b.Records {
		r := &b.Records[i]
		if want := b.Expect + int64(i) + 1; r.Seq != want {
			return nil, 0, bad("record %d of the batch has seq %d, want %d", i, r.Seq, want)
		}
		if b.Epoch == 0 && b.Delta.Opened == nil && !r.Kind.Shared() {
			return nil, 0, &session.Error{
				Op: "append", Session: id, Err: session.ErrFenced,
				Detail: "a record of kind " + string(r.Kind) + " needs a lease",
			}
		}
		packed, err := packRecord(r)
		if err != nil {
			return nil, 0, bad("record %d: %v", r.Seq, err)
		}
		records[i] = packed
		largest = max(largest, len(packed))
		total += len(packed)
	}
	if total > maxBatch {
		return nil, 0, bad("the batch has %d bytes; the maximum is %d", total, maxBatch)
	}
	return records, largest, nil
}
