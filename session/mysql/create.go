package mysql

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

const insertSession = "INSERT INTO sessions (" + rows.Columns + ", epoch) VALUES (" + rows.Marks + ", 0)"

// create creates a session with its first batch.
func (s *Store) create(ctx context.Context, id string, b *session.Batch) error {
	return s.transact(ctx, "create", id, func(t *tx) error {
		m, err := dialect.Create(t, id, b)
		if err != nil {
			return err
		}
		if m == nil {
			return t.syncVisible()
		}
		num, err := t.insertSession(m)
		if errorCode(err) == codeDuplicate { // another process created the session meanwhile
			return errAgain
		}
		if err != nil {
			return err
		}
		if err := t.takeEpoch(id, num, b.Epoch); err != nil {
			return err
		}
		return t.insert(num, b.Records)
	})
}

func (t *tx) insertSession(m *session.Meta) (int64, error) {
	r, err := t.c.ExecContext(t.ctx, insertSession, dialect.Values(m)...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// takeEpoch copies the epoch of the session's lease into the session's row once the row exists. If
// a lease is acquired at the same time, one of the two waits for the other's lock on the row.
func (t *tx) takeEpoch(id string, num, want int64) error {
	var now int64
	if _, err := t.row([]any{&now}, "SELECT epoch FROM leases WHERE id = ? FOR UPDATE", []byte(id)); err != nil {
		return err
	}
	if want != 0 {
		if err := rows.CheckEpoch("create", id, want, now); err != nil {
			return err
		}
	}
	if now == 0 {
		return nil
	}
	_, err := t.exec("UPDATE sessions SET epoch = ? WHERE num = ?", now, num)
	return err
}
