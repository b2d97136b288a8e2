package session

import (
	"context"
	"time"
)

// AppendShared appends records of shared kinds ([Kind.Shared]) without the lease, if the seq of the
// log's head equals at. It returns them once they are durable. Errors: ErrConflict if the head
// differs, ErrInvalid for other kinds, ErrNotFound if there is no such session.
func (s *Sessions) AppendShared(ctx context.Context, id string, at int64, drafts ...Draft) ([]Record, error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.appendShared(ctx, m, at, drafts)
}

// appendShared is AppendShared for a caller that already has the meta.
func (s *Sessions) appendShared(ctx context.Context, m Meta, at int64, drafts []Draft) ([]Record, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	if err := checkDrafts(drafts); err != nil {
		return nil, err
	}
	for _, d := range drafts {
		if !d.Kind.Shared() {
			return nil, &Error{
				Op: "append", Session: m.ID, Err: ErrInvalid,
				Detail: "a record of kind " + string(d.Kind) + " needs the session's lease",
			}
		}
	}
	if m.Head != at {
		return nil, &Error{Op: "append", Session: m.ID, Seq: m.Head, Err: ErrConflict}
	}
	l := s.newLog(m.ID)
	l.meta = m
	recs := l.seal(drafts)
	if err := l.write(ctx, recs); err != nil {
		return nil, err
	}
	return recs, nil
}

// Now returns the time of these sessions' clock.
func (s *Sessions) Now() time.Time { return s.opt.Clock() }
