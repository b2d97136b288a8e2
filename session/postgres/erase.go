package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Erase implements [session.Eraser]. When it returns, the payloads cannot be read, and the server
// has been asked to remove the old row versions (VACUUM). The server's write-ahead log and backups
// may contain the payloads until they are removed.
func (s *Store) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	if err := s.tables.Erase(ctx, id, epoch, seqs); err != nil || len(seqs) == 0 {
		return err
	}
	return s.do(ctx, "erase", id, func(c *pgxpool.Conn, _ bool) error {
		_, err := c.Exec(ctx, `VACUUM records`, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}
