package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	st, err := dialect.List(q)
	if err != nil {
		return session.Page{}, err
	}
	if q.Limit > 0 {
		st.Add(" LIMIT ?", rows.Rows(q.Limit))
	}
	var page rows.Page
	err = s.do(ctx, "list", q.ID, func(c *pgxpool.Conn, _ bool) error {
		page = rows.Page{Limit: q.Limit}
		found, err := c.Query(ctx, st.SQL(), st.Args...)
		if err != nil {
			return err
		}
		defer found.Close()
		var row rows.Scan
		dest := row.Dest(true)
		for found.Next() {
			if err := found.Scan(dest...); err != nil {
				return err
			}
			page.Add(row.Meta())
		}
		return found.Err()
	})
	if err != nil {
		return session.Page{}, err
	}
	return page.Page, nil
}

// PutMeta implements [session.Rebuilder]. The meta must be of the log as it is now: when
// its head is not the last record's seq the error is ErrConflict. Whether the session is
// deleted does not follow from the log and stays.
func (s *Store) PutMeta(ctx context.Context, m session.Meta) error {
	return s.tx(ctx, "put meta", m.ID, func(tx pgx.Tx, _ bool) error {
		var num, deleted, last int64
		err := tx.QueryRow(ctx, `SELECT num, deleted FROM sessions WHERE id = $1 FOR NO KEY UPDATE`, []byte(m.ID)).Scan(&num, &deleted)
		if errors.Is(err, pgx.ErrNoRows) {
			return rows.NotFound("put meta", m.ID)
		}
		if err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT coalesce(max(seq), 0) FROM records WHERE num = $1`, num).Scan(&last); err != nil {
			return err
		}
		if last != m.Head {
			return &session.Error{Op: "put meta", Session: m.ID, Seq: last, Err: session.ErrConflict}
		}
		m := m
		m.Deleted = deleted != 0
		st := dialect.Statement(24).Add(`UPDATE sessions SET (`+rows.Columns+`) = (`+rows.Marks+`) WHERE num = ?`,
			append(dialect.Values(&m), num)...)
		_, err = tx.Exec(ctx, st.SQL(), st.Args...)
		return err
	})
}
