package object

import (
	"bytes"
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/session"
)

// maxPayload is the largest payload in bytes.
const maxPayload = 1 << 30

// Append implements [session.Store]. An append is one PutObject with a key that must not exist.
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	if err := checkBatch(b); err != nil {
		return s.explain(ctx, "append", id, err)
	}
	err := s.withHandle(ctx, "append", id, func(h *handle) error {
		if b.Delta.Opened != nil {
			return h.create(ctx, b)
		}
		return h.commit(ctx, func(st *state) (*draft, error) { return h.appendDraft(ctx, st, b) })
	})
	if err == nil {
		s.watchers.Notify(id)
	}
	return err
}

// appendDraft returns the slot for a batch, or nil if the batch is already stored.
func (h *handle) appendDraft(ctx context.Context, st *state, b session.Batch) (*draft, error) {
	if st.Meta == nil || st.Meta.Deleted {
		return nil, session.ErrNotFound
	}
	if there, err := h.has(ctx, st, b); there || err != nil {
		return nil, err
	}
	if err := checkWriter(st, b); err != nil {
		return nil, err
	}
	if st.Meta.Head != b.Expect {
		return nil, &session.Error{Seq: st.Meta.Head, Err: session.ErrConflict}
	}
	if b.Records[0].Prev != st.Meta.HeadDigest {
		return nil, &session.Error{Seq: st.Meta.Head, Err: session.ErrConflict, Detail: "the digest of the head differs"}
	}
	return &draft{entry: entryAppend, records: b.Records, state: st.after(b)}, nil
}

// after returns the state with a batch applied.
func (s *state) after(b session.Batch) state {
	next := *s
	var m session.Meta
	if s.Meta != nil {
		m = *s.Meta
	}
	m = m.Apply(b.Delta)
	next.Meta = &m
	return next
}

// checkWriter returns why the writer of a batch may not append.
func checkWriter(st *state, b session.Batch) error {
	if b.Epoch == 0 && free(b) {
		return nil
	}
	if st.Lease == nil || st.Epoch != b.Epoch {
		return session.ErrFenced
	}
	return nil
}

// free reports whether a batch needs no lease.
func free(b session.Batch) bool {
	if b.Delta.Opened != nil {
		return true
	}
	for i := range b.Records {
		if !b.Records[i].Kind.Shared() {
			return false
		}
	}
	return true
}

// has reports whether the store already has these records. It compares digests.
func (h *handle) has(ctx context.Context, st *state, b session.Batch) (bool, error) {
	last := b.Records[len(b.Records)-1]
	if last.Seq > st.Meta.Head {
		return false, nil
	}
	if last.Seq == st.Meta.Head {
		// The digest of a record covers the digests of all records before it.
		return last.Digest == st.Meta.HeadDigest, nil
	}
	i := 0
	sc := h.scan(session.Range{After: b.Records[0].Seq - 1, Until: last.Seq})
	for r, err := range sc.all(ctx) {
		if err != nil {
			return false, err
		}
		if r.Digest != b.Records[i].Digest {
			return false, nil
		}
		i++
	}
	return i == len(b.Records), nil
}

// create appends the first batch of a session. A fork registers itself in its parent with an
// object, the pin, before it checks the parent. A delete looks for pins after it has marked the
// session as deleted. Therefore at least one of the two finds the other's object.
func (h *handle) create(ctx context.Context, b session.Batch) error {
	base := b.Delta.Opened.Base
	if base == nil && b.Expect != 0 {
		return session.ErrConflict
	}
	var parent *handle
	if base != nil {
		if err := session.CheckID(base.Parent); err != nil {
			return err
		}
		if base.Parent == h.id {
			return session.ErrExists
		}
		parent = newHandle(h.s, base.Parent) // a separate handle, so that two forks of each other do not deadlock
	}
	log, tidied := unique(), false
	var pinned []forkPin
	err := h.commit(ctx, func(st *state) (*draft, error) {
		if st.deleted() && !tidied {
			tidied = true // an earlier delete may have been interrupted
			if err := h.removeUnused(ctx); err != nil {
				return nil, err
			}
			st = &h.st
		}
		if st.Meta != nil {
			if there, err := h.has(ctx, st, b); there || err != nil {
				return nil, err
			}
		}
		if err := checkWriter(st, b); err != nil {
			return nil, err
		}
		if st.Meta != nil {
			return nil, session.ErrExists
		}
		d := &draft{entry: entryAppend, records: b.Records, state: st.after(b), log: log}
		if h.exists() {
			d.log = h.root.Log
		}
		if parent != nil {
			p, err := parent.pin(ctx, forkPin{seq: base.Seq, log: d.log, name: nameOf(h.id)}, b.Expect)
			if p.parent != "" {
				pinned = append(pinned, p)
			}
			if err != nil {
				return nil, err
			}
			d.state.Parent = p.parent
		}
		return d, nil
	})
	for _, p := range pinned {
		if err != nil && !h.unsure(p.log) {
			_ = h.s.bucket.remove(ctx, []string{p.key()}) // otherwise Sweep does it
		}
	}
	return err
}

// unsure reports whether a session with this log may exist.
func (h *handle) unsure(log string) bool {
	return h.root == nil || h.root.Log == log && h.st.Meta != nil
}

// pin registers a fork in its parent, and then checks whether it may start there.
func (h *handle) pin(ctx context.Context, p forkPin, expect int64) (forkPin, error) {
	refuse := func(seq int64, err error) error {
		return &session.Error{Op: "fork", Session: h.id, Seq: seq, Err: err}
	}
	if err := h.sync(ctx); err != nil {
		return p, err
	}
	if h.st.Meta == nil || h.st.deleted() {
		return p, refuse(0, session.ErrNotFound)
	}
	p.parent = h.root.Log
	if err := h.s.bucket.put(ctx, p.key(), []byte("{}\n")); err != nil {
		return p, err
	}
	if err := h.sync(ctx); err != nil {
		return p, err
	}
	switch {
	case h.st.Meta == nil || h.st.deleted() || h.root.Log != p.parent:
		return p, refuse(0, session.ErrNotFound)
	case expect != p.seq || p.seq > h.st.Meta.Head:
		return p, refuse(h.st.Meta.Head, session.ErrConflict)
	}
	return p, nil
}

func checkBatch(b session.Batch) error {
	bad := func(seq int64, why string) error {
		return &session.Error{Seq: seq, Err: session.ErrInvalid, Detail: why}
	}
	if len(b.Records) == 0 {
		return bad(0, "the batch is empty")
	}
	for i := range b.Records {
		r := &b.Records[i]
		switch {
		case r.Seq != b.Expect+int64(i)+1:
			return bad(r.Seq, "the seqs do not follow the expected head")
		case !utf8.ValidString(r.ID) || !utf8.ValidString(string(r.Kind)) || r.Kind == "":
			return bad(r.Seq, "the id or kind is not valid text")
		case !r.Time.Equal(r.Time.Truncate(1e6)):
			return bad(r.Seq, "the time is not in whole milliseconds")
		case len(r.Payload) > maxPayload:
			return bad(r.Seq, "the payload is larger than 1 GiB")
		case r.Payload != nil && !oneLineObject(r.Payload):
			return bad(r.Seq, "the payload is not one JSON object on one line")
		}
	}
	return nil
}

func oneLineObject(b []byte) bool {
	return len(b) > 1 && b[0] == '{' && b[len(b)-1] == '}' && bytes.IndexByte(b, '\n') < 0 && json.Valid(b)
}
