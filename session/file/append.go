package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/session"
)

// Append implements [session.Store] with one write and one fdatasync.
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	err := s.append(ctx, id, b)
	if err == nil {
		s.watchers.Notify(id)
	}
	return err
}

func (s *Store) append(ctx context.Context, id string, b session.Batch) error {
	if err := checkBatch(id, b); err != nil {
		return err
	}
	if b.Delta.Opened != nil {
		return explain("append", id, s.create(ctx, id, b))
	}
	h, err := s.use("append", id)
	if err != nil {
		return err
	}
	defer s.release(h)
	if err := h.enter(ctx, false); err != nil {
		return explain("append", id, err)
	}
	defer h.leave()
	return explain("append", id, h.append(b))
}

// create appends the first batch of a session.
func (s *Store) create(ctx context.Context, id string, b session.Batch) error {
	h, err := s.use("append", id)
	if err != nil {
		return err
	}
	defer s.release(h)
	release, err := s.lockNames(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkFree(id); err != nil {
		return err
	}
	if err := h.enter(ctx, true); err != nil {
		return err
	}
	defer h.leave()
	if err := h.load(true); err != nil {
		return err
	}
	if h.summary.End > 0 {
		if ok, err := h.has(b); ok || err != nil {
			return err
		}
	}
	if b.Epoch != 0 {
		if err := h.fence(b.Epoch); err != nil {
			return err
		}
	}
	if h.summary.End > 0 {
		return &session.Error{Op: "append", Session: id, Err: session.ErrExists}
	}
	if h.corrupt != 0 {
		return corrupt("append", id, h.corrupt, h.detail)
	}
	if err := s.checkBase(id, b); err != nil {
		return err
	}
	return h.write(b)
}

// checkBase returns why a fork cannot start at its base.
func (s *Store) checkBase(id string, b session.Batch) error {
	base := b.Delta.Opened.Base
	if base == nil {
		if b.Expect != 0 {
			return &session.Error{Op: "append", Session: id, Err: session.ErrConflict}
		}
		return nil
	}
	if err := session.CheckID(base.Parent); err != nil {
		return err
	}
	parent, ok, err := s.meta(base.Parent)
	if err != nil {
		return err
	}
	if !ok {
		return &session.Error{Op: "fork", Session: base.Parent, Err: session.ErrNotFound}
	}
	if b.Expect != base.Seq || base.Seq > parent.Head {
		return &session.Error{Op: "fork", Session: base.Parent, Seq: parent.Head, Err: session.ErrConflict}
	}
	return nil
}

// append adds a batch to an existing session.
func (h *handle) append(b session.Batch) error {
	if err := h.load(false); err != nil {
		return err
	}
	if h.summary.End == 0 && h.corrupt == 0 {
		return &session.Error{Op: "append", Session: h.id, Err: session.ErrNotFound}
	}
	if b.Expect < h.summary.Meta.Head {
		if ok, err := h.has(b); ok || err != nil {
			return err
		}
	}
	if b.Epoch != 0 || !shared(b.Records) {
		if err := h.fence(b.Epoch); err != nil {
			return err
		}
	}
	if h.corrupt != 0 {
		return corrupt("append", h.id, h.corrupt, h.detail)
	}
	m := &h.summary.Meta
	if m.Head != b.Expect {
		return &session.Error{Op: "append", Session: h.id, Seq: m.Head, Err: session.ErrConflict}
	}
	if b.Records[0].Prev != m.HeadDigest {
		return &session.Error{Op: "append", Session: h.id, Seq: m.Head, Err: session.ErrConflict, Detail: "the digest of the head differs"}
	}
	return h.write(b)
}

// write makes a batch durable at the end of the log. If the write fails, the log keeps its old end.
// If this cannot be ensured, the log is poisoned.
func (h *handle) write(b session.Batch) error {
	size := 0
	for i := range b.Records {
		size += len(b.Records[i].Payload) + 512
	}
	buf := make([]byte, 0, size)
	start := 0
	for i := range b.Records {
		start = len(buf)
		buf = appendLine(buf, &b.Records[i], len(b.Records)-1-i)
	}
	off := h.summary.End
	h.acked.Store(off)
	h.writing.Store(true)
	defer h.writing.Store(false)
	if err := h.s.disk.write(h.log, buf, off); err != nil {
		if cut := h.s.disk.truncate(h.log, off); cut != nil {
			return h.poison(errors.Join(err, cut))
		}
		return err
	}
	if err := h.sync(); err != nil {
		_ = h.s.disk.truncate(h.log, off) // the batch was not acknowledged
		return h.poison(err)
	}
	if err := h.checkRemoved(); err != nil { // a write to a removed log would be lost
		return h.poison(err)
	}
	end := off + int64(len(buf))
	h.acked.Store(end)
	h.summary.Meta = h.summary.Meta.Apply(b.Delta)
	h.summary.Meta.ID = h.id
	h.summary.Start, h.summary.End = off+int64(start), end
	h.loaded, h.summary.Verified = true, true
	h.summary.Opened = h.summary.Opened || b.Delta.Opened != nil
	if end-h.saved > saveEvery {
		h.saveSummary()
	}
	return nil
}

// checkRemoved returns an error if the log or its folder was removed.
func (h *handle) checkRemoved() error {
	if _, names, err := statFile(h.log); err == nil && names == 0 {
		return errors.New(h.dir.Name() + "/" + logName + " was removed")
	}
	return h.s.gone()
}

// has reports whether the batch is already stored. If it is, has makes it durable, because its
// writer may have died before the sync.
func (h *handle) has(b session.Batch) (bool, error) {
	l, err := seek(h.log, h.summary.End, b.Records[0].Seq-1)
	if err != nil {
		return false, err
	}
	s := scanner{f: h.log, off: l.end, limit: h.summary.End}
	for i := range b.Records {
		l, err := s.next()
		if errors.Is(err, io.EOF) || err == nil && (l.bad || l.rec.Digest != b.Records[i].Digest) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	if err := h.sync(); err != nil {
		return false, h.poison(err)
	}
	return true, nil
}

// sync makes the log durable. The first time, it also makes the names that lead to the log durable,
// because their creator may have crashed before it did that.
func (h *handle) sync() error {
	if err := h.s.disk.sync(h.log); err != nil || h.named {
		return err
	}
	if err := h.s.disk.syncDir(h.dir); err != nil {
		return err
	}
	if err := h.s.disk.syncDir(h.s.root); err != nil {
		return err
	}
	h.named = true
	return nil
}

func shared(records []session.Record) bool {
	for i := range records {
		if !records[i].Kind.Shared() {
			return false
		}
	}
	return true
}

// checkBatch rejects batches that could not be read back unchanged.
func checkBatch(id string, b session.Batch) error {
	invalid := func(seq int64, why string) error {
		return &session.Error{Op: "append", Session: id, Seq: seq, Err: session.ErrInvalid, Detail: why}
	}
	if len(b.Records) == 0 {
		return invalid(0, "the batch is empty")
	}
	for i := range b.Records {
		r := &b.Records[i]
		switch {
		case r.Seq != b.Expect+int64(i)+1:
			return invalid(r.Seq, "the seqs do not follow the expected head")
		case !utf8.ValidString(r.ID) || !utf8.ValidString(string(r.Kind)) || r.Kind == "":
			return invalid(r.Seq, "the id or kind is not valid text")
		case !r.Time.Equal(r.Time.Truncate(1e6)):
			return invalid(r.Seq, "the time is not in whole milliseconds")
		case len(r.Payload) > maxPayload:
			return invalid(r.Seq, "the payload is larger than 1 GiB")
		case r.Payload != nil && !oneLineObject(r.Payload):
			return invalid(r.Seq, "the payload is not one JSON object on one line")
		}
	}
	return nil
}

const maxPayload = 1 << 30

func oneLineObject(b []byte) bool {
	return len(b) > 1 && b[0] == '{' && b[len(b)-1] == '}' && bytes.IndexByte(b, '\n') < 0 && jsonscan.Valid(b)
}

// meta returns the meta of a session that is not deleted.
func (s *Store) meta(id string) (session.Meta, bool, error) {
	m, err := s.summaryOf(id, id)
	if errors.Is(err, fs.ErrNotExist) {
		return session.Meta{}, false, nil
	}
	return m.Meta, err == nil && m.exists(), err
}
