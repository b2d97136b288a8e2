package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// purgeRows is how many records are removed in one transaction.
const purgeRows = 5000

// Delete implements [session.Deleter]. The session is gone for everyone with the first
// transaction. Its records follow in further ones; if that is cut short, the next Delete
// goes on with it.
func (s *Store) Delete(ctx context.Context, id string) error {
	var num int64
	err := s.tx(ctx, "delete", id, func(tx pgx.Tx, again bool) error {
		if err := s.lock(ctx, tx, id); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `UPDATE sessions SET `+rows.Emptied+`, epoch = 0 WHERE id = $1 AND deleted = 0 RETURNING num`,
			[]byte(id)).Scan(&num)
		if errors.Is(err, pgx.ErrNoRows) {
			if again { // it was done before the connection was lost
				return nil
			}
			return rows.NotFound("delete", id)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM leases WHERE id = $1`, []byte(id))
		return err
	})
	for more := err == nil; more && err == nil; {
		err = s.tx(ctx, "delete", id, func(tx pgx.Tx, _ bool) (err error) {
			more, err = sweep(ctx, tx)
			return err
		})
	}
	if err == nil && num != 0 {
		s.grown(num) // who watches is told that it is gone
	}
	return err
}

// selectWaste finds a deleted session that has records above what its forks need, or
// that no fork needs, and that nobody else is about to remove. Forks that are deleted
// themselves count as long as they are there.
const selectWaste = `
SELECT s.num, need.seq FROM sessions s, LATERAL (
  SELECT max(f.parent_seq) AS seq FROM sessions f WHERE f.parent = s.id AND f.parent <> '') need
WHERE s.deleted = 1 AND (need.seq IS NULL OR s.head > need.seq) LIMIT 1 FOR UPDATE OF s`

// sweep does one step of removing what deleted sessions leave behind, and reports
// whether there may be another.
func sweep(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	var num int64
	var need *int64
	err = tx.QueryRow(ctx, selectWaste).Scan(&num, &need)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	low := int64(0)
	if need != nil {
		low = *need
	}
	for _, table := range []string{"search", "indexed"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE num = $1`, num); err != nil {
			return false, err
		}
	}
	tag, err := tx.Exec(ctx, `DELETE FROM records WHERE num = $1 AND seq > $2 AND seq >
(SELECT coalesce(min(seq), 0) - 1 FROM (SELECT seq FROM records WHERE num = $1 AND seq > $2 ORDER BY seq DESC LIMIT $3) r)`,
		num, low, purgeRows)
	if err != nil || tag.RowsAffected() >= purgeRows {
		return true, err
	}
	if need == nil {
		_, err = tx.Exec(ctx, `DELETE FROM sessions WHERE num = $1`, num)
		return true, err
	}
	_, err = tx.Exec(ctx, `UPDATE sessions SET head = $2, head_digest =
coalesce((SELECT substr(chain, 65) FROM records WHERE num = $1 AND seq = $2), head_digest) WHERE num = $1`, num, low)
	return true, err
}
