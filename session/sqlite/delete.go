package sqlite

import (
	"context"

	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// purgeRows is how many records are removed in one transaction, so that other
// writers get their turn while a big session goes.
const purgeRows = 2000

// Delete implements [session.Deleter]. The session is gone for everyone with
// the first transaction. Its records follow in further ones, zeroed on the
// medium (secure_delete); if that is cut short, the next Delete goes on with it.
func (s *Store) Delete(ctx context.Context, id string) error {
	err := s.write(ctx, "delete", id, func(c *conn) error {
		n, err := c.exec("UPDATE sessions SET "+rows.Emptied+" WHERE id = ? AND deleted = 0", id)
		if err != nil {
			return err
		}
		if n == 0 {
			return rows.NotFound("delete", id)
		}
		delete(c.nums, id)
		_, err = c.exec("DELETE FROM leases WHERE id = ?", id)
		return err
	})
	s.board.Tell(id)
	for more := err == nil; more && err == nil; {
		err = s.write(ctx, "delete", id, func(c *conn) (err error) {
			more, err = c.sweep()
			return err
		})
	}
	return err
}

// selectWaste finds a deleted session that has records above what its forks
// need, or that no fork needs. Forks that are deleted themselves count as long
// as they are there.
const selectWaste = `
SELECT num, head, need FROM (
  SELECT num, head, parent_seq,
    (SELECT max(f.parent_seq) FROM sessions f WHERE f.parent = s.id AND f.parent <> '') AS need
  FROM sessions s WHERE deleted = 1)
WHERE need IS NULL OR head > need LIMIT 1`

// sweep does one step of removing what deleted sessions leave behind, and
// reports whether there may be another.
func (c *conn) sweep() (more bool, err error) {
	r, err := c.row(selectWaste)
	if err != nil || r == nil {
		return false, err
	}
	num, need := asInt(r[0]), asInt(r[2])
	n, err := c.exec("DELETE FROM records WHERE key IN (SELECT key FROM records WHERE key > ? AND key <= ? ORDER BY key DESC LIMIT ?)",
		num<<seqBits|need, num<<seqBits|maxSeq, int64(purgeRows))
	if err != nil || n == purgeRows {
		return true, err
	}
	if r[2] == nil {
		_, err = c.exec("DELETE FROM sessions WHERE num = ?", num)
		return true, err
	}
	_, err = c.exec(`UPDATE sessions SET head = ?, head_digest =
  coalesce((SELECT substr(chain, 65) FROM records WHERE key = ?), head_digest) WHERE num = ?`, need, num<<seqBits|need, num)
	return true, err
}
