package session

import "context"

// AppendObserver keeps evidence of what logs said, so that a log that was cut or rewritten
// is found out (package internal/audit). It may be called concurrently.
type AppendObserver interface {
	// Appended is told that the log of session id now ends with head, before anybody
	// acts on that. An error fails the append: what was to follow does not happen. The
	// records are on disk then, and the next append begins with telling it again.
	Appended(ctx context.Context, id string, head Record) error
	// Deleted is told that a session is deleted on purpose, before it is.
	Deleted(ctx context.Context, id string) error
}

// Eraser is a store that can erase payloads for good, from the medium too, and keep
// their records: Payload nil, Body and Digest as they were. It is called by who
// holds the lease with that epoch, after a [record.Redacted] record that names the
// records is on disk, and again after a crash: what is erased stays erased. Of a deleted
// session it erases what forks still show; nobody writes there, so no epoch counts.
type Eraser interface {
	Erase(ctx context.Context, id string, epoch int64, seqs []int64) error
}

// witnessed tells the witness how a log ends now. A batch that it could not be
// told of counts as unsure, so that the next append tells it again.
func (s *Sessions) witnessed(ctx context.Context, id string, head Record) error {
	if s.opt.AppendObserver == nil {
		return nil
	}
	if err := s.opt.AppendObserver.Appended(ctx, id, head); err != nil {
		return unwitnessed(id, head.Seq, "the record is on disk and nobody may act on it", err)
	}
	return nil
}

// witnessHead tells the witness of the last record of a log that was opened:
// whoever appended it may have ended before that.
func (l *Log) witnessHead(ctx context.Context) error {
	if l.s.opt.AppendObserver == nil {
		return nil
	}
	for r, err := range l.s.store.Read(ctx, l.id, Range{After: l.meta.Head - 1, Until: l.meta.Head}) {
		if err != nil {
			return err
		}
		return l.s.witnessed(ctx, l.id, r)
	}
	return &Error{
		Op: "open", Session: l.id, Seq: l.meta.Head, Err: ErrCorrupt, Detail: "its last record is gone",
		Hint: "holdfast sessions verify " + l.id,
	}
}

func (s *Sessions) witnessDelete(ctx context.Context, id string) error {
	if s.opt.AppendObserver == nil {
		return nil
	}
	if err := s.opt.AppendObserver.Deleted(ctx, id); err != nil {
		return unwitnessed(id, 0, "nothing was deleted", err)
	}
	return nil
}

func unwitnessed(id string, seq int64, detail string, err error) error {
	e := &Error{Op: "witness", Session: id, Seq: seq, Detail: detail, Hint: Hint(err), Err: err}
	if e.Hint == "" {
		e.Hint = "make room for the audit trail and its folder writable, then try again"
	}
	return e
}
