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
	out := h
	err := s.transact(ctx, "take lease", id, func(t *tx) error {
		cur, now, err := t.lease(id, " FOR UPDATE")
		if err != nil {
			return err
		}
		out = h
		switch {
		case cur == nil:
		case t.unsure && same(*cur, h): // the try before was carried out
			out.Epoch, out.Former = cur.Epoch, cur.Former
			return nil
		case steal == nil || !steal(*cur):
			return &session.BusyError{Session: id, Lease: *cur}
		default:
			out = h.From(*cur)
		}
		out.Renewed = now
		text, err := rows.LeaseText(out)
		if err != nil {
			return err
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
	before, after, err := rows.LeaseParts(l)
	if err != nil {
		return err
	}
	return s.on(ctx, "renew lease", id, func(t *tx) error {
		n, err := t.exec("UPDATE leases SET lease = CONCAT(?, "+clock+", ?) WHERE id = ? AND epoch = ?", []byte(before), []byte(after), []byte(id), l.Epoch)
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
		if err != nil {
			return err
		}
		if n == 0 {
			return t.noFormer(id, l.Epoch)
		}
		_, err = t.exec("UPDATE sessions SET epoch = 0 WHERE id = ? AND epoch = ?", []byte(id), l.Epoch)
		return err
	})
}

// Held implements [session.LeaseReader].
func (s *Store) Held(ctx context.Context, id string) (*session.Lease, error) {
	var held *session.Lease
	err := s.on(ctx, "read lease", id, func(t *tx) (err error) {
		held, _, err = t.lease(id, "")
		return err
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}

// clock is the server's time in milliseconds.
const clock = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)"

// lease reads the lease of a session, nil when there is none, with what is left of it by the
// server's time, and that time.
func (t *tx) lease(id, lock string) (_ *session.Lease, now int64, err error) {
	var epoch int64
	var text []byte
	found, err := t.row([]any{&epoch, &text, &now}, "SELECT epoch, lease, "+clock+" FROM leases WHERE id = ?"+lock, []byte(id))
	if err == nil && !found {
		_, err = t.row([]any{&now}, "SELECT "+clock)
	}
	if err != nil || !found {
		return nil, now, err
	}
	l, err := rows.ParseLease(id, string(text))
	if err != nil {
		return nil, now, err
	}
	l.Epoch = epoch
	l = l.Remains(now)
	return &l, now, nil
}

// noFormer notes that whom a lease was taken from has given it back.
func (t *tx) noFormer(id string, epoch int64) error {
	held, _, err := t.lease(id, " FOR UPDATE")
	if err != nil || held == nil || held.Former == nil || held.Former.Epoch != epoch {
		return err
	}
	held.Former = nil
	text, err := rows.LeaseText(*held)
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE leases SET lease = ? WHERE id = ?", []byte(text), []byte(id))
	return err
}
