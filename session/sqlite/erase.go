package sqlite

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Erase implements [session.Eraser]. It zeroes the payloads in the file (secure_delete),
// checkpoints the journal, which may contain them too, and truncates it. If readers prevent that
// for longer than the busy timeout, the error is ErrBusy: the payloads are then erased in the file,
// but remain in the journal until Erase is called again or the last program closes the file.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	if err := s.tables.Erase(ctx, id, epoch, seqs); err != nil {
		return err
	}
	return s.cutJournal(ctx, id)
}

// cutJournal checkpoints and truncates the journal. It uses its own connection, because the writer
// may be in a transaction.
func (s *Store) cutJournal(ctx context.Context, id string) error {
	c, err := dial(s.path, s.opt.BusyTimeout)
	if err != nil {
		return s.translate("erase", id, err)
	}
	defer c.close()
	deadline := time.Now().Add(s.opt.BusyTimeout)
	pause := time.NewTicker(5 * time.Millisecond) // SQLite itself does not wait for a checkpoint in progress
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
				Op: "erase", Session: id, Err: session.ErrBusy, Detail: "the records are erased, but a reader keeps them in " + s.path + "-wal",
				Hint: "close the programs that read the store, then redact again",
			}
		}
	}
}
