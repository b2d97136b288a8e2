package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// purgeRows is how many records are removed in one transaction, so that other writers
// get their turn while a big session goes.
const purgeRows = 2000

// Delete implements [session.Deleter]. The session is gone for everyone with the first
// transaction. Its records follow in further ones; if that is cut short, the next Delete
// goes on with it.
func (s *Store) Delete(ctx context.Context, id string) error {
	err := s.transact(ctx, "delete", id, func(t *tx) error {
		if _, err := t.exec("DELETE FROM leases WHERE id = ?", []byte(id)); err != nil {
			return err
		}
		n, err := t.exec("UPDATE sessions SET epoch = 0, "+rows.Emptied+" WHERE id = ? AND deleted = 0", []byte(id))
		if err == nil && n == 0 && !t.unsure {
			return rows.NotFound("delete", id)
		}
		return err
	})
	if err != nil {
		return err
	}
	s.board.Tell(id)
	for more := true; more && err == nil; {
		err = s.transact(ctx, "delete", id, func(t *tx) (err error) {
			more, err = t.sweep()
			return err
		})
	}
	return err
}

// A deleted session is waste when it has records above what its forks need, or when no
// fork needs it. Forks that are deleted themselves count as long as they are there.
const (
	need        = `(SELECT MAX(f.parent_seq) FROM sessions f WHERE f.parent = s.id)`
	selectWaste = `SELECT num FROM (SELECT num, head, ` + need + ` AS need FROM sessions s WHERE deleted = 1) w
  WHERE need IS NULL OR head > need ORDER BY num LIMIT 1`
	lockWaste = `SELECT ` + need + ` FROM sessions s WHERE num = ? AND deleted = 1 FOR UPDATE`
	cutHead   = `UPDATE sessions SET head = ?, head_digest =
  COALESCE((SELECT SUBSTR(chain, 65) FROM records WHERE records.num = sessions.num AND seq = ?), head_digest) WHERE num = ?`
)

// sweep does one step of removing what deleted sessions leave behind, and reports
// whether there may be another.
func (t *tx) sweep() (more bool, err error) {
	var num int64
	found, err := t.row([]any{&num}, selectWaste)
	if err != nil || !found {
		return false, err
	}
	var need sql.NullInt64
	err = t.c.QueryRowContext(t.ctx, lockWaste, num).Scan(&need)
	if errors.Is(err, sql.ErrNoRows) { // somebody else has swept it
		return true, nil
	}
	if err != nil {
		return false, err
	}
	n, err := t.exec("DELETE FROM records WHERE num = ? AND seq > ? ORDER BY seq DESC LIMIT ?", num, need.Int64, int64(purgeRows))
	if err != nil || n == purgeRows {
		return true, err
	}
	if !need.Valid {
		_, err = t.exec("DELETE FROM sessions WHERE num = ?", num)
	} else {
		_, err = t.exec(cutHead, need.Int64, need.Int64, num)
	}
	return true, err
}
