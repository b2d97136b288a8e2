package memory

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/session"
)

var _ session.Eraser = (*Store)(nil)

// Erase implements [session.Eraser].
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[id]
	switch {
	case l == nil || !l.exists:
		return fail("erase", id, 0, session.ErrNotFound)
	case l.meta.Deleted: // no process writes it
	case l.epoch != epoch || l.lease == nil:
		return fail("erase", id, 0, session.ErrFenced)
	}
	for _, seq := range seqs {
		if at := seq - l.first(); at < 0 || at >= int64(len(l.records)) {
			return fail("erase", id, seq, session.ErrInvalid)
		}
	}
	l.records = slices.Clone(l.records) // a copy, because readers still use the old slice
	for _, seq := range seqs {
		l.records[seq-l.first()].Payload = nil
	}
	return nil
}
