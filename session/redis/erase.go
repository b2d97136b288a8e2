package redis

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/session"
)

// Erase implements [session.Eraser]. It then makes the server rewrite its append-only file, which
// still contains the payloads, and waits for that; it takes as long as writing all the server's
// data. With rewrite=off in the URL, Erase does not do this.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	args := []any{epoch}
	for _, seq := range seqs {
		if seq < 1 || seq > maxSeq {
			if _, err := s.write(ctx, "erase", id, eraseScript(), epoch); err != nil {
				return err // this error is more serious
			}
			return &session.Error{Op: "erase", Session: id, Seq: seq, Err: session.ErrInvalid, Detail: "the session itself has no record with this number"}
		}
		args = append(args, seq)
	}
	// Each script erases the payloads that fit in one call. Each call is atomic, and all calls are
	// safe to repeat. The first one checks the largest and the smallest seq.
	const most = 5000
	if _, err := s.write(ctx, "erase", id, eraseScript(), append([]any{epoch}, firstLast(args[1:])...)...); err != nil {
		return err
	}
	for part := range slices.Chunk(args[1:], most) {
		if _, err := s.write(ctx, "erase", id, eraseScript(), append([]any{epoch}, part...)...); err != nil {
			return err
		}
	}
	if len(seqs) == 0 || !s.rewrite {
		return nil
	}
	return s.rewriteFiles(ctx, id)
}
