package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Erase implements [session.Eraser]. Nobody can read the payloads when it returns, and
// the server was told to remove what it keeps of them for older transactions (VACUUM).
// Its journal and its backups may have them until those are removed.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	if err := s.tables.Erase(ctx, id, epoch, seqs); err != nil || len(seqs) == 0 {
		return err
	}
	return s.do(ctx, "erase", id, func(c *pgxpool.Conn, _ bool) error {
		_, err := c.Exec(ctx, `VACUUM records`, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}
