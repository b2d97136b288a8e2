package rows

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// purgeRows is the number of records removed in one transaction, so that other writers are not
// blocked while a large session is removed.
const purgeRows = 2000

// Delete implements [session.Deleter]. The first transaction deletes the session for everyone. Its
// records are removed in further transactions; if that is interrupted, the next Delete continues
// it.
func (t *SQLStore) Delete(ctx context.Context, id string) error {
	var num int64
	err := t.db.Transact(ctx, "delete", id, func(tx Tx) error {
		if err := t.begin(tx, "delete", id); err != nil {
			return err
		}
		found, err := first(tx, []any{&num}, "SELECT num FROM sessions WHERE id = ? AND deleted = 0", id)
		if err != nil {
			return err
		}
		if !found {
			if tx.MayBeRetry() { // an earlier try deleted the session
				return nil
			}
			return NotFound("delete", id)
		}
		if _, err := tx.Exec("DELETE FROM leases WHERE id = ?", id); err != nil {
			return err
		}
		set := Emptied
		if t.d.Epochs {
			set += ", epoch = 0"
		}
		n, err := tx.Exec("UPDATE sessions SET "+set+" WHERE num = ? AND deleted = 0", num)
		if err == nil && n == 0 { // another process deleted the session meanwhile
			return NotFound("delete", id)
		}
		return err
	})
	if err == nil && t.hooks.Deleted != nil {
		t.hooks.Deleted(id, num)
	}
	for more := err == nil; more && err == nil; {
		err = t.db.Transact(ctx, "delete", id, func(tx Tx) (err error) {
			more, err = t.sweep(tx)
			return err
		})
	}
	return err
}

// A deleted session has waste if it has records after the last record that its forks need, or if no
// fork needs it. Deleted forks count as long as their rows exist.
const (
	forkNeedsSQL = `(SELECT max(f.parent_seq) FROM sessions f WHERE f.parent = s.id AND f.parent <> '')`
	selectWaste  = `SELECT num FROM (SELECT num, head, ` + forkNeedsSQL + ` AS need FROM sessions s WHERE deleted = 1) w
  WHERE need IS NULL OR head > need ORDER BY num LIMIT 1`
	selectNeed = `SELECT coalesce(` + forkNeedsSQL + `, -1) FROM sessions s WHERE num = ? AND deleted = 1`
)

// sweep removes some of the records that deleted sessions leave behind, and reports whether there
// may be more.
func (t *SQLStore) sweep(tx Tx) (more bool, err error) {
	var num, need, low int64
	found, err := first(tx, []any{&num}, selectWaste)
	if err != nil || !found {
		return false, err
	}
	if found, err = first(tx, []any{&need}, selectNeed+t.d.ForUpdate, num); err != nil || !found {
		return true, err // another process removed the session meanwhile
	}
	for _, table := range t.d.Index {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE num = ?", num); err != nil {
			return false, err
		}
	}
	within, args := t.d.within(num, max(need, 0), MaxSeq)
	key := t.d.seq()
	if _, err := first(tx, []any{&low}, "SELECT coalesce(min("+key+"), 0) FROM (SELECT "+key+" FROM records WHERE "+within+
		" ORDER BY "+key+" DESC LIMIT ?) r", append(args, int64(purgeRows))...); err != nil {
		return false, err
	}
	within, args = t.d.within(num, max(need, low&MaxSeq-1, 0), MaxSeq)
	n, err := tx.Exec("DELETE FROM records WHERE "+within, args...)
	if err != nil || n >= purgeRows {
		return true, err
	}
	if need < 0 {
		_, err = tx.Exec("DELETE FROM sessions WHERE num = ?", num)
		return true, err
	}
	within, args = t.d.within(num, max(need-1, 0), need)
	_, err = tx.Exec("UPDATE sessions SET head = ?, head_digest = coalesce((SELECT substr(chain, 65) FROM records WHERE "+within+"), head_digest) WHERE num = ?",
		append(append([]any{need}, args...), num)...)
	return true, err
}

// eraseRows is the number of records that one statement erases.
const eraseRows = 64

// Erase implements [session.Eraser].
func (t *SQLStore) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	return t.db.Transact(ctx, "erase", id, func(tx Tx) error {
		if err := t.begin(tx, "erase", id); err != nil {
			return err
		}
		var num, below, head, deleted, now int64
		found, err := first(tx, []any{&num, &below, &head, &deleted, &now},
			"SELECT num, parent_seq, head, deleted, "+t.d.epoch()+" FROM sessions WHERE id = ?"+t.d.ForUpdate, id)
		if err != nil {
			return err
		}
		if !found {
			return NotFound("erase", id)
		}
		if deleted == 0 { // no process writes a deleted session
			if err := CheckEpoch("erase", id, epoch, now); err != nil {
				return err
			}
		}
		for _, seq := range seqs { // before any change
			if seq <= below || seq > head {
				return &session.Error{Op: "erase", Session: id, Seq: seq, Err: session.ErrInvalid, Detail: "the session itself has no record with this number"}
			}
		}
		for some := range slices.Chunk(seqs, eraseRows) {
			if err := t.erase(tx, num, some); err != nil {
				return err
			}
		}
		return nil
	})
}

// erase removes the payloads of at most eraseRows records. The list of seqs is filled up with its
// last seq, so that all statements have the same text.
func (t *SQLStore) erase(tx Tx, num int64, seqs []int64) error {
	list := "(?" + strings.Repeat(", ?", eraseRows-1) + ")"
	args := make([]any, eraseRows)
	for i := range args {
		args[i] = seqs[min(i, len(seqs)-1)]
	}
	if t.d.Source != "" {
		if _, err := tx.Exec("DELETE FROM "+t.d.Source+" WHERE num = ? AND source IN "+list, append([]any{num}, args...)...); err != nil {
			return err
		}
	}
	where := "num = ? AND seq IN " + list
	if t.d.Key {
		where = "key IN " + list
		for i := range args {
			args[i] = num<<32 | args[i].(int64)
		}
	} else {
		args = append([]any{num}, args...)
	}
	for _, value := range []string{t.d.Overwrite, "NULL"} {
		if value == "" {
			continue
		}
		if _, err := tx.Exec("UPDATE records SET payload = "+value+" WHERE "+where+" AND payload IS NOT NULL", args...); err != nil {
			return err
		}
	}
	return nil
}
