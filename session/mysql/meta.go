package mysql

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// PutMeta implements [session.Rebuilder]. The meta must be of the log as it is now: when
// its head is not the last record's seq the error is ErrConflict. Whether the session is
// deleted does not follow from the log and stays.
func (s *Store) PutMeta(ctx context.Context, m session.Meta) error {
	replace := "UPDATE sessions SET " + strings.Join(strings.FieldsFunc(rows.Columns, notInName), " = ?, ") + " = ? WHERE num = ?"
	return s.transact(ctx, "put meta", m.ID, func(t *tx) error {
		var num, last int64
		m := m
		found, err := t.row([]any{&num, &m.Deleted}, "SELECT num, deleted FROM sessions WHERE id = ? FOR UPDATE", []byte(m.ID))
		if err != nil {
			return err
		}
		if !found {
			return rows.NotFound("put meta", m.ID)
		}
		if _, err := t.row([]any{&last}, "SELECT COALESCE(MAX(seq), 0) FROM records WHERE num = ?", num); err != nil {
			return err
		}
		if last != m.Head {
			return &session.Error{Op: "put meta", Session: m.ID, Seq: last, Err: session.ErrConflict}
		}
		_, err = t.exec(replace, append(dialect.Values(&m), num)...)
		return err
	})
}

func notInName(r rune) bool { return r == ',' || r == ' ' || r == '\n' }
