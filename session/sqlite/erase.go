package sqlite

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Erase implements [session.Eraser]. The payloads are zeroed in the file
// (secure_delete), and the journal, which may have them too, is written back and
// cut. When readers are in the way of that for longer than the busy timeout, the
// error is ErrBusy: the payloads are erased, but the journal still has them until
// Erase is called again or the file is closed by the last program that has it open.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	if err := s.tables.Erase(ctx, id, epoch, seqs); err != nil {
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
