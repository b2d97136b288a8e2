package rows

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// Acquire implements [session.Leaser]. The function steal is called inside a transaction, possibly
// more than once, and must not call the store.
func (t *SQLStore) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	h.Epoch = 0
	out := h
	var locked int64 // the epoch of the lock that this process holds
	drop := func() {
		if locked != 0 {
			t.hooks.Locks.Unlock(id, locked)
		}
	}
	err := t.db.Transact(ctx, "take lease", id, func(tx Tx) error {
		if err := t.begin(tx, "take lease", id); err != nil {
			return err
		}
		cur, now, err := t.lease(tx, id, true)
		if err != nil {
			return err
		}
		out = h
		switch {
		case cur == nil:
		case tx.MayBeRetry() && sameLease(*cur, h): // the earlier try was committed
			out.Epoch, out.Previous, out.Renewed = cur.Epoch, cur.Previous, cur.Renewed
			return nil
		case steal == nil || !steal(*cur):
			return &session.BusyError{Session: id, Lease: *cur}
		default:
			out = h.TakenFrom(*cur)
		}
		out.Renewed = now
		if t.hooks.Acquire != nil {
			return t.hooks.Acquire(tx, id, &out, cur != nil)
		}
		if t.d.CountEpoch != "" {
			if _, err := tx.Exec(t.d.CountEpoch); err != nil {
				return err
			}
		}
		if found, err := first(tx, []any{&out.Epoch}, t.d.NextEpoch); err != nil {
			return err
		} else if !found {
			return NoEpochs(id)
		}
		if t.hooks.Locks != nil {
			drop() // release the lock of an earlier try
			locked = out.Epoch
			if err := t.hooks.Locks.Lock(id, locked); err != nil { // before another process can read the lease
				return err
			}
		}
		return t.putLease(tx, id, out)
	})
	if err != nil {
		drop()
		return session.Lease{}, err
	}
	return out, nil
}

// NoEpochs is the error for a database whose epoch counter is missing.
func NoEpochs(id string) error {
	return &session.Error{Op: "take lease", Session: id, Err: session.ErrCorrupt, Detail: "the table epochs is empty"}
}

// sameLease reports whether two leases differ only in their epochs.
func sameLease(a, b session.Lease) bool {
	return a.Holder == b.Holder && a.Since.Equal(b.Since) && a.Expires.Equal(b.Expires)
}

// putLease stores a lease. If the session's row has a column for the epoch, it also stores the
// epoch there.
func (t *SQLStore) putLease(tx Tx, id string, l session.Lease) error {
	text, err := LeaseText(l)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO leases (id, epoch, lease) VALUES (?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, lease = excluded.lease`, id, l.Epoch, text)
	if err == nil && t.d.Epochs {
		_, err = tx.Exec("UPDATE sessions SET epoch = ? WHERE id = ? AND deleted = 0", l.Epoch, id)
	}
	return err
}

// Renew implements [session.Leaser].
func (t *SQLStore) Renew(ctx context.Context, id string, l session.Lease) error {
	set, args, err := t.d.renewed(l)
	if err != nil {
		return err
	}
	return t.db.Write(ctx, "renew lease", id, func(tx Tx) error {
		n, err := tx.Exec("UPDATE leases SET lease = "+set+" WHERE id = ? AND epoch = ?", append(args, id, l.Epoch)...)
		if err == nil && n == 0 {
			return Fenced("renew lease", id, fmt.Sprintf("epoch %d is no longer current", l.Epoch))
		}
		return err
	})
}

// renewed returns the SQL expression for a renewed lease and its parameters. The expression
// contains the server's time if the server has a clock.
func (d *Dialect) renewed(l session.Lease) (sql string, args []any, err error) {
	if d.Clock == "" {
		text, err := LeaseText(l)
		return "?", []any{text}, err
	}
	before, after, err := LeaseParts(l)
	return d.Renewed, []any{before, after}, err
}

// Release implements [session.Leaser].
func (t *SQLStore) Release(ctx context.Context, id string, l session.Lease) error {
	if t.hooks.Locks != nil {
		defer t.hooks.Locks.Unlock(id, l.Epoch)
	}
	return t.db.Transact(ctx, "release lease", id, func(tx Tx) error {
		if err := t.begin(tx, "release lease", id); err != nil {
			return err
		}
		n, err := tx.Exec("DELETE FROM leases WHERE id = ? AND epoch = ?", id, l.Epoch)
		switch {
		case err != nil:
			return err
		case n == 0:
			return t.forgetFormer(tx, id, l.Epoch)
		case t.d.Epochs:
			_, err = tx.Exec("UPDATE sessions SET epoch = 0 WHERE id = ? AND epoch = ?", id, l.Epoch)
		}
		return err
	})
}

// forgetFormer records that the previous holder has released the lease.
func (t *SQLStore) forgetFormer(tx Tx, id string, epoch int64) error {
	held, _, err := t.lease(tx, id, true)
	if err != nil || held == nil || held.Previous == nil || held.Previous.Epoch != epoch {
		return err
	}
	held.Previous = nil
	text, err := LeaseText(*held)
	if err != nil {
		return err
	}
	_, err = tx.Exec("UPDATE leases SET lease = ? WHERE id = ?", text, id)
	return err
}

// Held implements [session.Leaser].
func (t *SQLStore) Held(ctx context.Context, id string) (*session.Lease, error) {
	var held *session.Lease
	err := t.db.Read(ctx, "read lease", id, func(tx Tx) (err error) {
		held, _, err = t.lease(tx, id, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}

// lease reads the lease of a session with its remaining time, nil if there is none, and the
// server's time in milliseconds, 0 if the server has no clock.
func (t *SQLStore) lease(tx Tx, id string, lock bool) (_ *session.Lease, now int64, err error) {
	sql := "SELECT epoch, lease, 0 FROM leases WHERE id = ?"
	if t.d.Clock != "" { // the time is needed even if there is no lease
		sql = "SELECT coalesce(l.epoch, 0), l.lease, " + t.d.Clock + " FROM (SELECT 1 AS one) o LEFT JOIN leases l ON l.id = ?"
	}
	if lock {
		sql += t.d.LockLease
	}
	var epoch int64
	var text []byte
	if _, err := first(tx, []any{&epoch, &text, &now}, sql, id); err != nil || text == nil {
		return nil, now, err
	}
	l, err := ParseLease(id, text)
	if err != nil {
		return nil, now, err
	}
	l.Epoch = epoch
	if t.hooks.Locks != nil {
		l = l.WithLiveness(t.hooks.Locks.IsLocked(id, epoch))
	} else {
		l = l.Remains(now)
	}
	return &l, now, nil
}

// CheckEpoch returns ErrFenced if a session's lease now has another epoch.
func CheckEpoch(op, id string, epoch, now int64) error {
	switch {
	case now == 0 && epoch != 0:
		return Fenced(op, id, "the lease was released")
	case now != epoch || epoch == 0:
		return Fenced(op, id, fmt.Sprintf("the epoch was %d and is now %d", epoch, now))
	}
	return nil
}

// LeaseText encodes a lease for its column. It returns ErrInvalid if it has a time that JSON cannot
// represent.
func LeaseText(l session.Lease) (string, error) {
	b, err := json.Marshal(l.Stored())
	if err != nil {
		return "", &session.Error{Op: "take lease", Err: session.ErrInvalid, Detail: err.Error()}
	}
	return string(b), nil
}

// LeaseParts is LeaseText split at the position where the server inserts its time.
func LeaseParts(l session.Lease) (before, after string, err error) {
	l.Renewed = 1
	text, err := LeaseText(l)
	if err != nil {
		return "", "", err
	}
	before, after, _ = strings.Cut(text, renewed+"1")
	return before + renewed, after, nil
}

const renewed = `"renewed":`

// ParseLease decodes a lease. It returns ErrCorrupt if the lease is invalid.
func ParseLease(id string, text []byte) (l session.Lease, err error) {
	if err := json.Unmarshal(text, &l); err != nil {
		return l, &session.Error{Op: "read lease", Session: id, Err: session.ErrCorrupt, Detail: err.Error()}
	}
	return l, nil
}
