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
	err := s.write(ctx, "take lease", id, func(c *conn) error {
		r, err := c.row("SELECT lease FROM leases WHERE id = ?", id)
		if err != nil {
			return err
		}
		if r != nil {
			cur, err := rows.ParseLease(id, asText(r[0]))
			if err != nil {
				return err
			}
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
		out = h
		out.Epoch = asInt(r[0])
		text, err := rows.LeaseText(out)
		if err != nil {
			return err
		}
		_, err = c.exec("INSERT INTO leases (id, epoch, lease) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, lease = excluded.lease",
			id, out.Epoch, text)
		return err
	})
	if err != nil {
		return session.Lease{}, err
	}
	return out, nil
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
	return s.write(ctx, "release lease", id, func(c *conn) error {
		_, err := c.exec("DELETE FROM leases WHERE id = ? AND epoch = ?", id, l.Epoch)
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
		l, err := rows.ParseLease(id, asText(r[0]))
		held = &l
		return err
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}
