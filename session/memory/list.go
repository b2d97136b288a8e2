package memory

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// cursor is the place of a session in the order of the list.
type cursor struct {
	Updated, Created int64 // nanoseconds
	ID               string
}

func at(m *session.Meta) cursor {
	return cursor{m.UpdatedAt.UnixNano(), m.CreatedAt.UnixNano(), m.ID}
}

// compare orders sessions for a list: updated last first, then created last,
// then by id downwards.
func (c cursor) compare(d cursor) int {
	return cmp.Or(cmp.Compare(d.Updated, c.Updated), cmp.Compare(d.Created, c.Created), strings.Compare(d.ID, c.ID))
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := ctx.Err(); err != nil {
		return session.Page{}, err
	}
	var after *cursor
	if q.After != "" {
		raw, err := base64.RawURLEncoding.DecodeString(q.After)
		if err == nil {
			err = json.Unmarshal(raw, &after)
		}
		if err != nil {
			return session.Page{}, &session.Error{Op: "list", Err: session.ErrInvalid, Detail: "the cursor is not one of this store"}
		}
	}
	found := s.matching(q, after)
	slices.SortFunc(found, func(a, b session.Meta) int { return at(&a).compare(at(&b)) })
	p := session.Page{Sessions: found}
	if q.Limit > 0 && len(found) > q.Limit {
		p.Sessions = slices.Clone(found[:q.Limit])
		raw, _ := json.Marshal(at(&p.Sessions[q.Limit-1]))
		p.Next = base64.RawURLEncoding.EncodeToString(raw)
	}
	return p, nil
}

func (s *Store) matching(q session.Query, after *cursor) []session.Meta {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if q.ID != "" {
		if l := s.logs[q.ID]; l != nil && l.exists {
			return []session.Meta{l.meta}
		}
		return nil
	}
	var found []session.Meta
	for _, l := range s.logs {
		m := &l.meta
		switch {
		case !l.exists, m.Deleted,
			q.Project != "" && m.Project != q.Project,
			q.CWD != "" && m.CWD != q.CWD,
			q.Tag != "" && m.Tag != q.Tag,
			q.Parent != "" && m.Parent != q.Parent,
			q.Asked && m.Questions <= 0,
			q.Run != "" && !m.Runs(q.Run),
			q.Owner != "" && m.Owner != q.Owner,
			!q.Worktrees && strings.HasPrefix(m.ID, "wt-"),
			after != nil && at(m).compare(*after) <= 0:
			continue
		}
		found = append(found, *m)
	}
	return found
}
