package sqlite

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

var _ session.Eraser = (*Store)(nil)

// Erase implements [session.Eraser]. The payloads are zeroed in the file
// (secure_delete), and the journal, which may have them too, is written back and
// cut. When readers are in the way of that for longer than the busy timeout, the
// error is ErrBusy: the payloads are erased, but the journal still has them until
// Erase is called again or the file is closed by the last program that has it open.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	err := s.write(ctx, "erase", id, func(c *conn) error {
		r, err := c.row("SELECT num, parent_seq, head, deleted FROM sessions WHERE id = ?", id)
		if err != nil {
			return err
		}
		if r == nil {
			return rows.NotFound("erase", id)
		}
		if asInt(r[3]) == 0 { // nobody writes to what is deleted
			if err := c.checkEpoch(id, epoch); err != nil {
				return err
			}
		}
		num, below, head := asInt(r[0]), asInt(r[1]), asInt(r[2])
		for _, seq := range seqs { // before anything is changed
			if seq <= below || seq > head {
				return &session.Error{Op: "erase", Session: id, Seq: seq, Err: session.ErrInvalid, Detail: "the session has no such record of its own"}
			}
		}
		for _, seq := range seqs {
			if _, err := c.exec("UPDATE records SET payload = NULL WHERE key = ? AND payload IS NOT NULL", num<<seqBits|seq); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.cutJournal(ctx, id)
}

// cutJournal writes the journal back into the file and cuts it to nothing, on a
// connection of its own: a transaction of the writer may be under way.
func (s *Store) cutJournal(ctx context.Context, id string) error {
	c, err := dial(s.path, s.opt.BusyTimeout)
	if err != nil {
		return s.translate("erase", id, err)
	}
	defer c.close()
	deadline := time.Now().Add(s.opt.BusyTimeout)
	pause := time.NewTicker(5 * time.Millisecond) // who checkpoints already is not waited for by SQLite
	defer pause.Stop()
	for {
		r, err := c.row("PRAGMA wal_checkpoint(TRUNCATE)")
		if err != nil && !isBusy(err) {
			return s.translate("erase", id, err)
		}
		if err == nil && len(r) > 0 && asInt(r[0]) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
		if time.Now().After(deadline) {
			return &session.Error{
				Op: "erase", Session: id, Err: session.ErrBusy, Detail: "the records are erased, but " + s.path + "-wal still has them: somebody is reading",
				Hint: "end what reads the store and redact again",
			}
		}
	}
}
