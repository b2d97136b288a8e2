package session

import "context"

// AppendObserver records evidence of appends, so that a log that was cut or rewritten can be
// detected (package internal/audit). It may be called concurrently.
type AppendObserver interface {
	// Appended is called when the log of session id ends with head, before anything else uses the
	// new records. If it returns an error, the append fails, but the records are stored, and the
	// next append reports them again.
	Appended(ctx context.Context, id string, head Record) error
	// Deleted is called before a session is deleted on purpose.
	Deleted(ctx context.Context, id string) error
}

// Eraser is a store that can permanently erase payloads, also on the medium, and keep their
// records: Payload nil, Body and Digest unchanged. The lease holder calls it with its epoch after
// it has stored a [record.Redacted] record that names the records, and calls it again after a
// crash. Erasing twice is harmless. In a deleted session it erases the payloads that its forks
// still show. No process writes to a deleted session, so the epoch is ignored.
type Eraser interface {
	Erase(ctx context.Context, id string, epoch int64, seqs []int64) error
}

// observeAppend calls the observer with the end of a log. If the observer fails, the outcome of the
// batch counts as unknown, so that the next append reports it again.
func (s *Sessions) observeAppend(ctx context.Context, id string, head Record) error {
	if s.opt.AppendObserver == nil {
		return nil
	}
	if err := s.opt.AppendObserver.Appended(ctx, id, head); err != nil {
		return observerError(id, head.Seq, "the record is stored but could not be added to the audit trail", err)
	}
	return nil
}

// observeHead calls the observer with the last record of a log that was opened, because the
// process that appended it may have ended before its own call.
func (l *Log) observeHead(ctx context.Context) error {
	if l.s.opt.AppendObserver == nil {
		return nil
	}
	for r, err := range l.s.store.Read(ctx, l.id, Range{After: l.meta.Head - 1, Until: l.meta.Head}) {
		if err != nil {
			return err
		}
		return l.s.observeAppend(ctx, l.id, r)
	}
	return &Error{
		Op: "open", Session: l.id, Seq: l.meta.Head, Err: ErrCorrupt, Detail: "its last record is missing",
		Hint: "holdfast sessions verify " + l.id,
	}
}

func (s *Sessions) observeDelete(ctx context.Context, id string) error {
	if s.opt.AppendObserver == nil {
		return nil
	}
	if err := s.opt.AppendObserver.Deleted(ctx, id); err != nil {
		return observerError(id, 0, "nothing was deleted", err)
	}
	return nil
}

func observerError(id string, seq int64, detail string, err error) error {
	e := &Error{Op: "observe append", Session: id, Seq: seq, Detail: detail, Hint: Hint(err), Err: err}
	if e.Hint == "" {
		e.Hint = "check that the folder of the audit trail is writable and has free space, then try again"
	}
	return e
}
