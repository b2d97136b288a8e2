package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/redis"
	"github.com/holdfast-dev/holdfast/session"
)

// pageLimit is the longest page that is made in one step of the server. For a longer list the ids
// are found in one step, and the session metadata is fetched in parts.
const pageLimit = 1000

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	after, begun, err := q.Place()
	if err != nil {
		return session.Page{}, err
	}
	if q.ID != "" {
		m, found, err := s.meta(ctx, "list", q.ID)
		if err != nil || !found {
			return session.Page{}, err
		}
		return session.Page{Sessions: []session.Meta{m}}, nil
	}
	var all []session.Meta
	for _, index := range indexes(&q) {
		found, err := s.list(ctx, index, &q, after, begun)
		if err != nil {
			return session.Page{}, err
		}
		all = append(all, found...)
	}
	q.After = "" // entries before the position are already left out; sessions updated since then are included
	return q.Select(all)
}

// indexes returns the sorted sets that a list reads.
func indexes(q *session.Query) []string {
	switch {
	case q.WithTrash:
		return []string{"live", "trash"}
	case q.OnlyTrash:
		return []string{"trash"}
	}
	return []string{"live"}
}

// sets returns the sorted sets that must contain a session.
func sets(q *session.Query) []any {
	var out []any
	for _, f := range []struct{ field, value string }{
		{"project", q.Project}, {"cwd", q.CWD}, {"tag", q.Tag}, {"parent", q.Parent}, {"owner", q.Owner},
	} {
		if f.value != "" {
			out = append(out, "by:"+f.field+":"+f.value)
		}
	}
	switch q.Run {
	case "":
	case "*":
		out = append(out, "by:run")
	default:
		out = append(out, "by:run:"+q.Run)
	}
	if q.WithApprovals {
		out = append(out, "by:asked")
	}
	return out
}

// list finds the sessions after a position in one index: one more than the page has, to know
// whether there is another page.
func (s *Store) list(ctx context.Context, index string, q *session.Query, after session.Meta, begun bool) ([]session.Meta, error) {
	limit, metas := 0, false
	if q.Limit > 0 {
		limit = q.Limit + 1
		metas = q.Limit <= pageLimit
	}
	score, member := "", ""
	if begun {
		score = strconv.FormatInt(after.UpdatedAt.UnixMilli(), 10)
		member = memberTime(after.CreatedAt) + after.ID
	}
	out, err := s.run(ctx, "list", "", listScript(), append([]any{index, limit, score, member, q.Worktrees, metas, q.Unowned}, sets(q)...)...)
	if err != nil {
		return nil, err
	}
	found := make([]session.Meta, 0, len(out))
	ids := make([]string, 0, len(out))
	for i := 1; i < len(out); i++ {
		row := answer(out.list(i))
		if len(row.word(0)) < 16 {
			return nil, &session.Error{Op: "list", Err: session.ErrCorrupt, Detail: fmt.Sprintf("%s: %q in the index", s.shown, row.word(0))}
		}
		id := row.word(0)[16:]
		if !metas {
			ids = append(ids, id)
			continue
		}
		m, ok, err := scanMeta(id, row.list(2))
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, m)
		}
	}
	if metas {
		return found, nil
	}
	return s.metas(ctx, ids)
}

// metas fetches the metadata of many sessions. It leaves out sessions that were deleted meanwhile.
func (s *Store) metas(ctx context.Context, ids []string) ([]session.Meta, error) {
	found := make([]session.Meta, 0, len(ids))
	for len(ids) > 0 {
		part := ids[:min(len(ids), pageLimit)]
		ids = ids[len(part):]
		out, err := s.try(ctx, "list", "", func(ctx context.Context) (answer, error) {
			commands := make([]redis.Command, len(part))
			for i, id := range part {
				commands[i] = redis.Command{"HGETALL", s.base + "session:" + id}
			}
			replies, err := s.db.Pipeline(ctx, commands...)
			for _, reply := range replies {
				if e, ok := reply.(redis.Error); ok && err == nil {
					err = e
				}
			}
			return append(answer{"ok"}, replies...), err
		})
		if err != nil {
			return nil, err
		}
		for i, id := range part {
			m, ok, err := scanMeta(id, out.list(i+1))
			if err != nil {
				return nil, err
			}
			if ok {
				found = append(found, m)
			}
		}
	}
	return found, nil
}
