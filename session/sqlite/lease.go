package sqlite

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// Acquire implements [session.Leaser]. steal runs inside the transaction: it
// must not call the store.
func (s *Store) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	var out session.Lease
	var locked int64
	err := s.write(ctx, "take lease", id, func(c *conn) error {
		var former *session.Lease
		r, err := c.row("SELECT lease FROM leases WHERE id = ?", id)
		if err != nil {
			return err
		}
		if r != nil {
			cur, err := s.parseLease(id, asText(r[0]))
			if err != nil {
				return err
			}
			former = &cur
			if steal == nil || !steal(cur) {
				return &session.BusyError{Session: id, Lease: cur}
			}
		}
		if _, err := c.exec("UPDATE epochs SET last = last + 1"); err != nil {
			return err
		}
		if r, err = c.row("SELECT last FROM epochs"); err != nil {
			return err
		}
		if r == nil {
			return &session.Error{Op: "take lease", Session: id, Err: session.ErrCorrupt, Detail: s.path + ": the table epochs is empty"}
		}
		if out = h; former != nil {
			out = h.From(*former)
		}
		out.Epoch = asInt(r[0])
		text, err := rows.LeaseText(out)
		if err != nil {
			return err
		}
		if locked != 0 && locked != out.Epoch { // of a try before
			s.holders.Drop(id, locked)
		}
		locked = out.Epoch
		if err := s.holders.Hold(id, locked); err != nil { // before anybody reads of it
			return err
		}
		_, err = c.exec("INSERT INTO leases (id, epoch, lease) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, lease = excluded.lease",
			id, out.Epoch, text)
		return err
	})
	if err != nil {
		if locked != 0 {
			s.holders.Drop(id, locked)
		}
		return session.Lease{}, err
	}
	return out, nil
}

// parseLease reads a lease. Whether its holder lives is what its lock says.
func (s *Store) parseLease(id, text string) (session.Lease, error) {
	l, err := rows.ParseLease(id, text)
	if err != nil {
		return l, err
	}
	return l.Lives(s.holders.Held(id, l.Epoch)), nil
}

// Renew implements [session.Leaser].
func (s *Store) Renew(ctx context.Context, id string, l session.Lease) error {
	text, err := rows.LeaseText(l)
	if err != nil {
		return err
	}
	return s.write(ctx, "renew lease", id, func(c *conn) error {
		n, err := c.exec("UPDATE leases SET lease = ? WHERE id = ? AND epoch = ?", text, id, l.Epoch)
		if err == nil && n == 0 {
			return rows.Fenced("renew lease", id, fmt.Sprintf("epoch %d has passed", l.Epoch))
		}
		return err
	})
}

// Release implements [session.Leaser].
func (s *Store) Release(ctx context.Context, id string, l session.Lease) error {
	defer s.holders.Drop(id, l.Epoch)
	return s.write(ctx, "release lease", id, func(c *conn) error {
		n, err := c.exec("DELETE FROM leases WHERE id = ? AND epoch = ?", id, l.Epoch)
		if err != nil || n > 0 {
			return err
		}
		r, err := c.row("SELECT lease FROM leases WHERE id = ?", id)
		if err != nil || r == nil {
			return err
		}
		now, err := rows.ParseLease(id, asText(r[0]))
		if err != nil || now.Former == nil || now.Former.Epoch != l.Epoch {
			return err
		}
		now.Former = nil
		text, err := rows.LeaseText(now)
		if err != nil {
			return err
		}
		_, err = c.exec("UPDATE leases SET lease = ? WHERE id = ?", text, id)
		return err
	})
}

// Held implements [session.LeaseReader].
func (s *Store) Held(ctx context.Context, id string) (*session.Lease, error) {
	var held *session.Lease
	err := s.read(ctx, "read lease", id, func(c *conn) error {
		r, err := c.row("SELECT lease FROM leases WHERE id = ?", id)
		if err != nil || r == nil {
			return err
		}
		l, err := s.parseLease(id, asText(r[0]))
		held = &l
		return err
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}
