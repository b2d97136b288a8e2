package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/transcript"
)

// reasonReturn is the reason of a [Rewrite] that restores an earlier transcript.
const reasonReturn = "return"

// StateAt returns the state of a session right after a record, with the replacements of payloads
// erased since. It takes no lease. It returns ErrInvalid if there is no record with this number.
func (s *Sessions) StateAt(ctx context.Context, id string, seq int64) (*State, error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if seq < 1 || seq > m.Head {
		return nil, noRecord(m, seq)
	}
	f, err := replayErased(ctx, s.records(ctx, m, Range{Until: seq}), m, func(known erased) error {
		all, err := s.erasedIn(ctx, id)
		maps.Copy(known, all)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f.state(), nil
}

func noRecord(m Meta, seq int64) error {
	return &Error{
		Op: "find a record of", Session: m.ID, Seq: seq, Err: ErrInvalid, Detail: fmt.Sprintf("there is no record %d", seq),
		Hint: fmt.Sprintf("use a number from 1 to %d: holdfast sessions show --records %s", m.Head, m.ID),
	}
}

// RewindTo restores the transcript as it was right after a record, by one rewrite. To undo a
// compaction, use the seq before the rewrite's seq. The current transcript stays readable and can
// be restored in the same way. RewindTo repairs the session first, as [Sessions.Restore] does, and
// takes the lease: ErrBusy while the session runs. changed is false if the transcript is the same.
func (s *Sessions) RewindTo(ctx context.Context, id string, seq int64, by string) (changed bool, err error) {
	if _, err := s.StateAt(ctx, id, seq); err != nil { // before repairs
		return false, err
	}
	r, err := s.Restore(ctx, RestoreOptions{SessionID: id, MustExist: true})
	if err != nil {
		return false, err
	}
	changed, err = r.Log.RewindTo(ctx, seq, by)
	return changed, errors.Join(err, r.Log.Close())
}

// RewindTo is [Sessions.RewindTo] for an open session.
func (l *Log) RewindTo(ctx context.Context, seq int64, by string) (changed bool, err error) {
	was, err := l.s.StateAt(ctx, l.id, seq)
	if err != nil {
		return false, err
	}
	now, err := l.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	w, changes := rewindRewrite(now.Items, was.Items)
	if !changes {
		return false, nil
	}
	w.Reason, w.By, w.Notes = reasonReturn, by, []string{fmt.Sprintf("as it was after record %d", seq)}
	return true, l.Rewrite(ctx, w)
}

// rewindRewrite returns the rewrite that turns now into was, and whether one is needed.
func rewindRewrite(now, was []transcript.Encoded) (w Rewrite, changes bool) {
	alike := func(a, b transcript.Encoded) bool { return bytes.Equal(a.JSON, b.JSON) }
	if slices.EqualFunc(now, was, alike) {
		return w, false
	}
	if n := len(was); n > 0 && n < len(now) && was[n-1].ID() != "" && slices.EqualFunc(now[:n], was, alike) {
		return Rewrite{TruncateAfter: was[n-1].ID()}, true
	}
	for _, e := range was {
		w.Items = append(w.Items, e.JSON)
	}
	return w, true
}
