package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// Acquire implements [session.Leaser]. steal runs inside the transaction: it must not
// call the store. The epoch goes to the session's row as well, where an append compares
// it on the row that it locks anyway.
func (s *Store) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	var out session.Lease
	err := s.tx(ctx, "take lease", id, func(tx pgx.Tx, again bool) error {
		if err := s.lock(ctx, tx, id); err != nil {
			return err
		}
		held, now, err := leaseOf(ctx, tx, id)
		if err != nil {
			return err
		}
		out = h
		if held != nil {
			cur := *held
			mine := again && cur.Holder == h.Holder && cur.Since.Equal(h.Since) // taken before the connection was lost
			if !mine && (steal == nil || !steal(cur)) {
				return &session.BusyError{Session: id, Lease: cur}
			}
			if out = h.From(cur); mine {
				out.Former = cur.Former
			}
		}
		out.Renewed = now
		if err := tx.QueryRow(ctx, `SELECT nextval('epochs')`).Scan(&out.Epoch); err != nil {
			return err
		}
		text, err := rows.LeaseText(out)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO leases (id, epoch, lease) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, lease = excluded.lease`, []byte(id), out.Epoch, text); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE sessions SET epoch = $2 WHERE id = $1 AND deleted = 0`, []byte(id), out.Epoch)
		return err
	})
	if err != nil {
		return session.Lease{}, err
	}
	return out, nil
}

// Renew implements [session.Leaser].
func (s *Store) Renew(ctx context.Context, id string, l session.Lease) error {
	before, after, err := rows.LeaseParts(l)
	if err != nil {
		return err
	}
	return s.do(ctx, "renew lease", id, func(c *pgxpool.Conn, _ bool) error {
		tag, err := c.Exec(ctx, `UPDATE leases SET lease = $3::text || `+clock+` || $4::text WHERE id = $1 AND epoch = $2`, []byte(id), l.Epoch, before, after)
		if err == nil && tag.RowsAffected() == 0 {
			return rows.Fenced("renew lease", id, fmt.Sprintf("epoch %d has passed", l.Epoch))
		}
		return err
	})
}

// Release implements [session.Leaser].
func (s *Store) Release(ctx context.Context, id string, l session.Lease) error {
	return s.tx(ctx, "release lease", id, func(tx pgx.Tx, _ bool) error {
		if err := s.lock(ctx, tx, id); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `DELETE FROM leases WHERE id = $1 AND epoch = $2`, []byte(id), l.Epoch)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return noFormer(ctx, tx, id, l.Epoch)
		}
		_, err = tx.Exec(ctx, `UPDATE sessions SET epoch = 0 WHERE id = $1 AND epoch = $2`, []byte(id), l.Epoch)
		return err
	})
}

// Held implements [session.LeaseReader].
func (s *Store) Held(ctx context.Context, id string) (*session.Lease, error) {
	var held *session.Lease
	err := s.do(ctx, "read lease", id, func(c *pgxpool.Conn, _ bool) (err error) {
		held, _, err = leaseOf(ctx, c, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}

// clock is the server's time in milliseconds.
const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// leaseOf is the lease of a session, with what is left of it by the server's time, and
// that time.
func leaseOf(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, id string,
) (held *session.Lease, now int64, err error) {
	var text *string
	if err = q.QueryRow(ctx, `SELECT (SELECT lease FROM leases WHERE id = $1), `+clock, []byte(id)).Scan(&text, &now); err != nil || text == nil {
		return nil, now, err
	}
	l, err := rows.ParseLease(id, *text)
	if err != nil {
		return nil, now, err
	}
	l = l.Remains(now)
	return &l, now, nil
}

// noFormer notes that whom a lease was taken from has given it back.
func noFormer(ctx context.Context, tx pgx.Tx, id string, epoch int64) error {
	held, _, err := leaseOf(ctx, tx, id)
	if err != nil || held == nil || held.Former == nil || held.Former.Epoch != epoch {
		return err
	}
	held.Former = nil
	text, err := rows.LeaseText(*held)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE leases SET lease = $2 WHERE id = $1`, []byte(id), text)
	return err
}

// epochOf is the epoch of a session's lease, 0 when nobody holds it.
func epochOf(ctx context.Context, tx pgx.Tx, id string) (epoch int64, err error) {
	err = tx.QueryRow(ctx, `SELECT epoch FROM leases WHERE id = $1`, []byte(id)).Scan(&epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return epoch, err
}
