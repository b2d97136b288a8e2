package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/wait"
)

// unknownAppend is a batch whose append failed with an unknown outcome.
//
//	append fails ─► look it up ─► found: appended
//	                    │    └──► not found: the error is returned, and the batch may still be written
//	                    └───────► lookup fails: the next use of the log looks it up first
type unknownAppend struct {
	open []Record // the records to look up
	// late are records that were looked up and not found. A server may still write them, until
	// another record has their seq.
	late []Record
}

// How often, and how long, a batch with an unknown outcome is looked up.
const (
	lookupTries = 6
	lookupPause = 50 * time.Millisecond // pause before the second lookup; it doubles each time
	lookupTime  = 5 * time.Second       // maximum time of all lookups
)

// contains reports whether r belongs to the batch that may still be written.
func (d *unknownAppend) contains(r Record) bool {
	return slices.ContainsFunc(d.late, func(o Record) bool { return o.Digest == r.Digest })
}

// resolved discards a batch once the log's head has reached the batch's first seq.
func (d *unknownAppend) resolved(head int64) {
	if d.late != nil && head >= d.late[0].Seq {
		d.late = nil
	}
}

// resolve determines whether the records recs, whose append failed with the error cause, were
// written. It returns nil if they were. The log is locked.
func (l *Log) resolve(ctx context.Context, recs []Record, cause error) error {
	l.doubt = unknownAppend{open: recs}
	if !IsTransient(cause) {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
	defer cancel()
	there, err := l.has(ctx, recs[0])
	for n, pause := 1, lookupPause; err != nil && n < lookupTries && IsTransient(err) && wait.For(ctx, pause) == nil; n, pause = n+1, pause*2 {
		there, err = l.has(ctx, recs[0])
	}
	switch {
	case err != nil:
		return &Error{
			Op: "append", Session: l.id, Seq: recs[0].Seq, Err: cause, Hint: Hint(cause),
			Detail: "whether the batch was written is unknown; the next use of the session looks it up",
		}
	case !there:
		l.doubt = unknownAppend{late: recs}
		return cause
	}
	l.doubt = unknownAppend{}
	return nil
}

// has reports whether the store has a record at its seq.
func (l *Log) has(ctx context.Context, want Record) (bool, error) {
	for r, err := range l.s.store.Read(ctx, l.id, Range{After: want.Seq - 1, Until: want.Seq}) {
		if errors.Is(err, ErrNotFound) && want.Kind == record.KindOpened {
			return false, nil
		}
		return err == nil && r.Digest == want.Digest, err
	}
	return false, nil
}

// settle finds out whether an append with unknown outcome was stored. If it was and has the
// content of drafts, settle returns its records; otherwise Refresh returns them. The log is
// locked.
func (l *Log) settle(ctx context.Context, drafts []Draft) ([]Record, error) {
	recs := l.doubt.open
	if recs == nil {
		return nil, nil
	}
	there, err := l.has(ctx, recs[0])
	if err != nil {
		return nil, err
	}
	if !there {
		l.doubt = unknownAppend{late: recs}
		return nil, nil
	}
	if head := l.Head(); head != recs[0].Seq-1 {
		return nil, &Error{Op: "append", Session: l.id, Seq: head, Err: ErrConflict}
	}
	delta, err := Fold(recs)
	if err != nil {
		return nil, err
	}
	if err := l.s.observeAppend(ctx, l.id, recs[len(recs)-1]); err != nil {
		return nil, err
	}
	l.fold(delta)
	l.doubt = unknownAppend{}
	if !sameRecords(recs, drafts) {
		l.unread = append(l.unread, recs...)
		return nil, nil
	}
	return recs, nil
}

// sealAgain is seal that makes the same records again for drafts that may still be written, so
// that the store recognizes them.
func (l *Log) sealAgain(drafts []Draft) []Record {
	if !sameRecords(l.doubt.late, drafts) {
		return l.seal(drafts)
	}
	recs := slices.Clone(l.doubt.late)
	l.reseal(recs)
	return recs
}

// sameRecords reports whether records have the content of drafts.
func sameRecords(recs []Record, drafts []Draft) bool {
	return slices.EqualFunc(recs, drafts, func(r Record, d Draft) bool {
		return r.Kind == d.Kind && string(r.Payload) == string(d.Payload) && (d.ID == "" || d.ID == r.ID)
	})
}

// isDefinite reports whether an error means that nothing was appended.
func isDefinite(err error) bool {
	return isAny(err, ErrConflict, ErrFenced, ErrExists, ErrNotFound, ErrFull, ErrReadOnly, ErrInvalid, ErrInvalidID, ErrClosed, ErrBusy, ErrUnsupported)
}

// IsTransient reports whether a store's error may not occur again on a retry: a lost connection,
// an unreachable server, a lock held for too long. It is false for errors about the session or the
// store, and for nil.
func IsTransient(err error) bool {
	if _, held := errors.AsType[*BusyError](err); held || err == nil {
		return false
	}
	return !isAny(err, ErrNotFound, ErrExists, ErrConflict, ErrFenced, ErrCorrupt, ErrNewer, ErrSealed, ErrTrashed,
		ErrInvalidID, ErrInvalid, ErrFull, ErrReadOnly, ErrPoisoned, ErrClosed, ErrUnsupported)
}

func isAny(err error, list ...error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}
