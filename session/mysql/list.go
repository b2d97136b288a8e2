package mysql

import (
	"context"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	query, err := dialect.List(q)
	if err != nil {
		return session.Page{}, err
	}
	if q.Limit > 0 {
		query.Add(" LIMIT ?", rows.Rows(q.Limit))
	}
	var page rows.Page
	err = s.on(ctx, "list", q.ID, func(t *tx) error {
		page = rows.Page{Limit: q.Limit}
		found, err := t.c.QueryContext(ctx, query.SQL(), query.Args...)
		if err != nil {
			return err
		}
		defer found.Close()
		var row rows.Scan
		dest := row.Dest(true)
		for found.Next() {
			if err := found.Scan(dest...); err != nil {
				return err
			}
			page.Add(row.Meta())
		}
		return found.Err()
	})
	if err != nil {
		return session.Page{}, err
	}
	return page.Page, nil
}
