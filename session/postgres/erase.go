package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// Erase implements [session.Eraser]. Nobody can read the payloads when it returns, and
// the server was told to remove what it keeps of them for transactions that are older
// (VACUUM). What its journal and its backups have of them goes with those.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	err := s.tx(ctx, "erase", id, func(tx pgx.Tx, _ bool) error {
		if err := s.lockWords(ctx, tx, id); err != nil {
			return err
		}
		return erase(ctx, tx, id, epoch, seqs)
	})
	if err != nil || len(seqs) == 0 {
		return err
	}
	return s.do(ctx, "erase", id, func(c *pgxpool.Conn, _ bool) error {
		_, err := c.Exec(ctx, `VACUUM records`, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// lockWords makes erasing and storing a step of the index take turns: who indexes has read
// the payloads before.
func (s *Store) lockWords(ctx context.Context, tx pgx.Tx, id string) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, s.key("words\x00"+id))
	return err
}

func erase(ctx context.Context, tx pgx.Tx, id string, epoch int64, seqs []int64) error {
	var num, below, head, now, deleted int64
	err := tx.QueryRow(ctx, `SELECT num, parent_seq, head, epoch, deleted FROM sessions WHERE id = $1 FOR NO KEY UPDATE`,
		[]byte(id)).Scan(&num, &below, &head, &now, &deleted)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return rows.NotFound("erase", id)
	case err != nil:
		return err
	case deleted != 0: // nobody writes to it
	case now == 0:
		return rows.Fenced("erase", id, "the lease was given back")
	case now != epoch:
		return rows.Fenced("erase", id, fmt.Sprintf("epoch %d, now %d", epoch, now))
	}
	for _, seq := range seqs {
		if seq <= below || seq > head {
			return &session.Error{Op: "erase", Session: id, Seq: seq, Err: session.ErrInvalid, Detail: "the session has no such record of its own"}
		}
	}
	if _, err := tx.Exec(ctx, `DELETE FROM search WHERE num = $1 AND source = ANY($2)`, num, seqs); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE records SET payload = NULL WHERE num = $1 AND seq = ANY($2) AND payload IS NOT NULL`, num, seqs)
	return err
}
