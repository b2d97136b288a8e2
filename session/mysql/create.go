package mysql

import (
	"context"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

const insertSession = "INSERT INTO sessions (" + rows.Columns + ", epoch) VALUES (" + rows.Marks + ", 0)"

// create makes a session with its first batch.
func (s *Store) create(ctx context.Context, id string, b *session.Batch) error {
	return s.transact(ctx, "create", id, func(t *tx) error {
		var num int64
		var deleted bool
		found, err := t.row([]any{&num, &deleted}, "SELECT num, deleted FROM sessions WHERE id = ?", []byte(id))
		if err != nil {
			return err
		}
		if found {
			same, err := t.present(num, b.Records)
			if err != nil {
				return err
			}
			if same && !deleted {
				return t.settle()
			}
			return &session.Error{Op: "create", Session: id, Err: session.ErrExists}
		}
		m := session.Meta{}.Apply(b.Delta)
		if b.Expect != m.ParentSeq {
			return &session.Error{Op: "create", Session: id, Seq: m.ParentSeq, Err: session.ErrConflict}
		}
		if m.Parent != "" { // before the session is there: it is no parent of its own
			if err := t.checkBase(b.Delta.Opened.Base); err != nil {
				return err
			}
		}
		num, err = t.insertSession(&m)
		if code(err) == codeDuplicate { // somebody was first
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

// takeEpoch copies the epoch of the session's lease into its row, once that is there: a
// lease that is taken at the same time either waits for the row or is waited for.
func (t *tx) takeEpoch(id string, num, want int64) error {
	var now int64
	if _, err := t.row([]any{&now}, "SELECT epoch FROM leases WHERE id = ? FOR UPDATE", []byte(id)); err != nil {
		return err
	}
	if want != 0 {
		if err := checkEpoch("append", id, want, now); err != nil {
			return err
		}
	}
	if now == 0 {
		return nil
	}
	_, err := t.exec("UPDATE sessions SET epoch = ? WHERE num = ?", now, num)
	return err
}

// checkBase makes sure that a fork's parent is there and stays: a deletion of it waits
// for the fork, and then keeps its records.
func (t *tx) checkBase(b *session.Base) error {
	var head int64
	found, err := t.row([]any{&head}, "SELECT head FROM sessions WHERE id = ? AND deleted = 0 LOCK IN SHARE MODE", []byte(b.Parent))
	if err != nil {
		return err
	}
	if !found {
		return rows.NotFound("fork", b.Parent)
	}
	if head < b.Seq {
		return &session.Error{Op: "fork", Session: b.Parent, Seq: head, Err: session.ErrConflict}
	}
	return nil
}
