package mysql

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// Erase implements [session.Eraser]. The payloads are overwritten with zeros where they
// lie in the row, and then removed. The server's own logs may have them until it uses
// that space again, see docs/formats/mysql.md.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	return s.transact(ctx, "erase", id, func(t *tx) error {
		var num, below, head, now, deleted int64
		found, err := t.row([]any{&num, &below, &head, &now, &deleted},
			"SELECT num, parent_seq, head, epoch, deleted FROM sessions WHERE id = ? FOR UPDATE", []byte(id))
		if err != nil {
			return err
		}
		if !found {
			return rows.NotFound("erase", id)
		}
		if deleted == 0 { // nobody writes to what is deleted
			if err := checkEpoch("erase", id, epoch, now); err != nil {
				return err
			}
		}
		for _, seq := range seqs { // before anything is changed
			if seq <= below || seq > head {
				return &session.Error{Op: "erase", Session: id, Seq: seq, Err: session.ErrInvalid, Detail: "the session has no such record of its own"}
			}
		}
		for _, seq := range seqs {
			if _, err := t.exec(eraseRecord, num, seq, num, seq); err != nil {
				return err
			}
		}
		return nil
	})
}

const eraseRecord = `UPDATE records SET payload = REPEAT(CHAR(0), LENGTH(payload)) WHERE num = ? AND seq = ? AND payload IS NOT NULL;
UPDATE records SET payload = NULL WHERE num = ? AND seq = ? AND payload IS NOT NULL`
