package rows

import (
	"context"

	"github.com/holdfast-dev/holdfast/session"
)

// Tx is a store's connection, inside a transaction or not. Statements use ? for a parameter, and
// arguments are as for [Statement.Add].
type Tx interface {
	// Exec runs a statement and returns how many rows it matched.
	Exec(sql string, args ...any) (int64, error)
	// Query scans the columns of each row into dest and then calls row, until row returns
	// false. Text is scanned into a *[]byte if the dialect has a Text function.
	Query(sql string, args, dest []any, row func() bool) error
	// MayBeRetry reports whether an earlier try may have been committed, because the connection
	// was lost before the answer.
	MayBeRetry() bool
}

// Database provides connections. Each method may call its f more than once, and returns errors as a
// [session.Store] does.
type Database interface {
	// Read calls f outside of a transaction.
	Read(ctx context.Context, op, id string, f func(Tx) error) error
	// Write calls f, which runs one statement without a transaction.
	Write(ctx context.Context, op, id string, f func(Tx) error) error
	// Transact calls f in a transaction and commits it if f returns nil.
	Transact(ctx context.Context, op, id string, f func(Tx) error) error
}

// Hooks are a store's additions to the methods of [SQLStore]. Each may be nil.
type Hooks struct {
	// Begin is called first in a transaction that takes or releases a lease, deletes or erases.
	Begin func(tx Tx, op, id string) error
	// Acquire gives a lease its epoch and stores it, instead of [Dialect.NextEpoch]. The parameter
	// held is true if the session already has a lease.
	Acquire func(tx Tx, id string, l *session.Lease, held bool) error
	// Locks show whether the holder of a lease is alive, for a database without a clock.
	Locks Locks
	// Deleted is called after a session was deleted.
	Deleted func(id string, num int64)
}

// Locks are the locks of the processes that hold leases.
type Locks interface {
	Lock(id string, epoch int64) error
	Unlock(id string, epoch int64)
	IsLocked(id string, epoch int64) (held, known bool)
}

// SQLStore has the store methods that are the same for every [Dialect]. It is safe for concurrent
// use.
type SQLStore struct {
	d     *Dialect
	db    Database
	hooks Hooks
}

// Tables returns the methods for a database of the dialect.
func (d *Dialect) Tables(db Database, h Hooks) *SQLStore { return &SQLStore{d, db, h} }

func (t *SQLStore) begin(tx Tx, op, id string) error {
	if t.hooks.Begin == nil {
		return nil
	}
	return t.hooks.Begin(tx, op, id)
}

// first scans the first row of a query; it returns false if there is none.
func first(tx Tx, dest []any, sql string, args ...any) (found bool, err error) {
	err = tx.Query(sql, args, dest, func() bool {
		found = true
		return false
	})
	return found && err == nil, err
}

// List implements [session.Store].
func (t *SQLStore) List(ctx context.Context, q session.Query) (session.Page, error) {
	st, err := t.d.List(q)
	if err != nil {
		return session.Page{}, err
	}
	if q.Limit > 0 && !t.d.Unbuffered {
		st.Add(" LIMIT ?", Rows(q.Limit))
	}
	var page Page
	err = t.db.Read(ctx, "list", q.ID, func(tx Tx) error {
		page = Page{Limit: q.Limit}
		var row Scan
		return tx.Query(st.SQL(), st.Args, row.Dest(t.d.Text != nil), func() bool { return page.Add(row.Meta()) })
	})
	if err != nil {
		return session.Page{}, err
	}
	return page.Page, nil
}

// PutMeta implements [session.Rebuilder]. It returns ErrConflict if the meta's head is not the seq
// of the last record. The deleted flag cannot be derived from the log, so it is left unchanged.
func (t *SQLStore) PutMeta(ctx context.Context, m session.Meta) error {
	return t.db.Transact(ctx, "put meta", m.ID, func(tx Tx) error {
		var num, deleted, last int64
		found, err := first(tx, []any{&num, &deleted}, "SELECT num, deleted FROM sessions WHERE id = ?"+t.d.ForUpdate, m.ID)
		if err != nil {
			return err
		}
		if !found {
			return NotFound("put meta", m.ID)
		}
		within, args := t.d.within(num, 0, MaxSeq)
		if _, err := first(tx, []any{&last}, "SELECT coalesce(max("+t.d.seq()+"), 0) FROM records WHERE "+within, args...); err != nil {
			return err
		}
		if last &= MaxSeq; last != m.Head {
			return &session.Error{Op: "put meta", Session: m.ID, Seq: last, Err: session.ErrConflict}
		}
		m := m
		m.Deleted = deleted != 0
		_, err = tx.Exec(replaceMeta, append(t.d.Values(&m), num)...)
		return err
	})
}
