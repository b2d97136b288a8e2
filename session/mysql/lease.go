package mysql

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// Acquire implements [session.Leaser]. steal runs inside a transaction: it must not call
// the store. It may be asked more than once.
func (s *Store) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	h.Epoch = 0
	text, err := rows.LeaseText(h)
	if err != nil {
		return session.Lease{}, err
	}
	out := h
	err = s.transact(ctx, "take lease", id, func(t *tx) error {
		cur, err := t.lease(id, " FOR UPDATE")
		if err != nil {
			return err
		}
		switch {
		case cur == nil:
		case t.unsure && same(*cur, h): // the try before was carried out
			out.Epoch = cur.Epoch
			return nil
		case steal == nil || !steal(*cur):
			return &session.BusyError{Session: id, Lease: *cur}
		}
		out.Epoch, err = t.nextEpoch(id, text, cur != nil)
		return err
	})
	if err != nil {
		return session.Lease{}, err
	}
	return out, nil
}

// same reports whether two leases differ in nothing but their epochs.
func same(a, b session.Lease) bool {
	return a.Holder == b.Holder && a.Since.Equal(b.Since) && a.Expires.Equal(b.Expires)
}

// nextEpoch gives the lease the next of all epochs. That is one text, so that the one
// counter is locked for no longer than the server needs.
func (t *tx) nextEpoch(id, text string, there bool) (int64, error) {
	query := "INSERT INTO leases (epoch, lease, id) VALUES (LAST_INSERT_ID(), ?, ?)"
	if there {
		query = "UPDATE leases SET epoch = LAST_INSERT_ID(), lease = ? WHERE id = ?"
	}
	_, err := t.exec("UPDATE epochs SET last = LAST_INSERT_ID(last + 1) WHERE one = 1; "+query+
		"; UPDATE sessions SET epoch = LAST_INSERT_ID() WHERE id = ? AND deleted = 0; COMMIT", []byte(text), []byte(id), []byte(id))
	if code(err) == codeDuplicate { // somebody was first
		return 0, errAgain
	}
	if err != nil {
		return 0, err
	}
	t.begun = false
	var epoch int64
	if _, err := t.row([]any{&epoch}, "SELECT LAST_INSERT_ID()"); err != nil {
		return 0, err
	}
	if epoch < 1 {
		return 0, &session.Error{Op: "take lease", Session: id, Err: session.ErrCorrupt, Detail: "the table epochs is empty"}
	}
	return epoch, nil
}

// Renew implements [session.Leaser].
func (s *Store) Renew(ctx context.Context, id string, l session.Lease) error {
	text, err := rows.LeaseText(l)
	if err != nil {
		return err
	}
	return s.on(ctx, "renew lease", id, func(t *tx) error {
		n, err := t.exec("UPDATE leases SET lease = ? WHERE id = ? AND epoch = ?", []byte(text), []byte(id), l.Epoch)
		if err == nil && n == 0 {
			return rows.Fenced("renew lease", id, fmt.Sprintf("epoch %d has passed", l.Epoch))
		}
		return err
	})
}

// Release implements [session.Leaser].
func (s *Store) Release(ctx context.Context, id string, l session.Lease) error {
	return s.transact(ctx, "release lease", id, func(t *tx) error {
		n, err := t.exec("DELETE FROM leases WHERE id = ? AND epoch = ?", []byte(id), l.Epoch)
		if err != nil || n == 0 {
			return err
		}
		_, err = t.exec("UPDATE sessions SET epoch = 0 WHERE id = ? AND epoch = ?", []byte(id), l.Epoch)
		return err
	})
}

// Held implements [session.LeaseReader].
func (s *Store) Held(ctx context.Context, id string) (*session.Lease, error) {
	var held *session.Lease
	err := s.on(ctx, "read lease", id, func(t *tx) (err error) {
		held, err = t.lease(id, "")
		return err
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}

// lease reads the lease of a session, nil when there is none.
func (t *tx) lease(id, lock string) (*session.Lease, error) {
	var epoch int64
	var text []byte
	found, err := t.row([]any{&epoch, &text}, "SELECT epoch, lease FROM leases WHERE id = ?"+lock, []byte(id))
	if err != nil || !found {
		return nil, err
	}
	l, err := rows.ParseLease(id, string(text))
	if err != nil {
		return nil, err
	}
	l.Epoch = epoch
	return &l, nil
}
