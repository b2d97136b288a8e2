package sqlite

import (
	"context"
	"database/sql/driver"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// List implements [session.Store]. The index has what is sorted and what is
// mostly filtered by, so that only the sessions of the page are fetched.
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	st, err := dialect.List(q)
	if err != nil {
		return session.Page{}, err
	}
	page := rows.Page{Limit: q.Limit}
	err = s.read(ctx, "list", q.ID, func(c *conn) error {
		return c.query(st.SQL(), func(r []driver.Value) bool { return page.Add(scanMeta(r)) }, st.Args...)
	})
	if err != nil {
		return session.Page{}, err
	}
	return page.Page, nil
}
