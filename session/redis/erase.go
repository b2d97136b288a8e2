package redis

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/session"
)

// Erase implements [session.Eraser]. Then it has the server rewrite its append-only
// file, which still has the payloads, and waits for that: it takes as long as writing
// all the server's data does. With rewrite=off in the URL that is left to the server.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	args := []any{epoch}
	for _, seq := range seqs {
		if seq < 1 || seq > maxSeq {
			if _, err := s.write(ctx, "erase", id, eraseScript(), epoch); err != nil {
				return err // what is worse comes first
			}
			return &session.Error{Op: "erase", Session: id, Seq: seq, Err: session.ErrInvalid, Detail: "the session has no such record of its own"}
		}
		args = append(args, seq)
	}
	// The scripts take what fits one call; each is a step of its own, and all may be
	// repeated. The first one finds out about the greatest and the least.
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
	return s.forget(ctx, id)
}
