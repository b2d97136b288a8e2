package rows

import (
	"encoding/base64"
	"encoding/json"
	"math"

	"github.com/holdfast-dev/holdfast/session"
)

// Cursor is the sort key of the last session of a page.
type Cursor struct {
	Updated int64  `json:"u"` // updated_ms
	Created int64  `json:"c"` // created_ms
	Nanos   int64  `json:"n"` // created_ns
	ID      string `json:"i"`
}

// CursorAt returns the cursor after m.
func CursorAt(m *session.Meta) Cursor {
	created := m.CreatedAt.UTC()
	return Cursor{m.UpdatedAt.UnixMilli(), created.UnixMilli(), int64(created.Nanosecond() % 1e6), m.ID}
}

func (c Cursor) String() string {
	b, _ := json.Marshal(c) // numbers and a string cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor decodes a cursor. It returns ErrInvalid if the cursor is invalid.
func ParseCursor(text string) (c Cursor, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		return c, &session.Error{
			Op: "list", Err: session.ErrInvalid, Detail: "the cursor is not from this store",
			Hint: "start again without a cursor",
		}
	}
	return c, nil
}

const (
	afterSQL      = ` AND (updated_ms, created_ms, created_ns, id) < (?, ?, ?, ?)`
	afterExpanded = ` AND updated_ms <= ? AND (updated_ms < ? OR created_ms < ? OR created_ms = ? AND (created_ns < ? OR created_ns = ? AND id < ?))`
)

// List returns the query for the sessions of a page, in their order. It has no limit: a store
// reads one row more than q.Limit to know whether there is another page, or adds its own limit.
func (d *Dialect) List(q session.Query) (*Statement, error) {
	s := d.Statement(8).Add("SELECT " + Columns + " FROM sessions ")
	if index := indexFor(q); index != "" && d.Hint != nil {
		s.Add(d.Hint(index))
	}
	s.Add("WHERE ")
	if q.ID != "" {
		s.Add("id = ?", q.ID)
	} else {
		filter(s, q)
	}
	if q.After != "" {
		c, err := ParseCursor(q.After)
		if err != nil {
			return nil, err
		}
		if d.Expanded {
			s.Add(afterExpanded, c.Updated, c.Updated, c.Created, c.Created, c.Nanos, c.Nanos, c.ID)
		} else {
			s.Add(afterSQL, c.Updated, c.Created, c.Nanos, c.ID)
		}
	}
	return s.Add(" ORDER BY updated_ms DESC, created_ms DESC, created_ns DESC, id DESC"), nil
}

// filter writes the conditions of [session.Query.Matches]. A condition for which there is a partial
// index has the same text as in the index.
func filter(s *Statement, q session.Query) {
	s.Add("deleted = 0")
	switch {
	case q.WithTrash:
	case q.OnlyTrash:
		s.Add(" AND trashed <> ''")
	default:
		s.Add(" AND trashed = ''")
	}
	if !q.Worktrees {
		s.Add(" AND substr(id, 1, 3) NOT IN ('wt-', 'wT-', 'Wt-', 'WT-')")
	}
	for _, f := range []struct{ term, value string }{
		{" AND project = ?", q.Project},
		{" AND cwd = ?", q.CWD},
		{" AND tag = ?", q.Tag},
		{" AND parent <> '' AND parent = ?", q.Parent},
		{" AND owner <> '' AND owner = ?", q.Owner},
	} {
		if f.value != "" {
			s.Add(f.term, f.value)
		}
	}
	if q.Unowned {
		s.Add(" AND owner = ''")
	}
	if q.WithApprovals {
		s.Add(" AND questions > 0")
	}
	switch q.Run {
	case "":
	case "*":
		s.Add(" AND run <> ''")
	default:
		s.Add(" AND run <> '' AND run = ?", q.Run)
	}
}

// indexFor returns the index to use if it selects few sessions: sorting those is cheaper than
// skipping the others. If the index may select many sessions and few are needed, the newest
// sessions are read until there are enough matches.
func indexFor(q session.Query) string {
	switch {
	case q.ID != "":
		return ""
	case q.WithApprovals:
		return "asking"
	case q.Owner != "":
		return "owned"
	case q.WithTrash || q.OnlyTrash:
		return ""
	case q.Run == "":
		return ""
	case q.Limit > 0 && (q.Run == "*" || q.Run == "completed"):
		return "recent"
	}
	return "runs"
}

// Rows returns the number of rows to read for a page of at most limit sessions: one more, to know
// whether there is a next page.
func Rows(limit int) int64 { return int64(min(limit, math.MaxInt-1)) + 1 }

// Page collects rows of [Dialect.List].
type Page struct {
	session.Page
	Limit int
}

// Add adds the next session and reports whether there is room for another row. The first row that
// does not fit becomes the cursor.
func (p *Page) Add(m session.Meta) bool {
	if p.Limit > 0 && len(p.Sessions) == p.Limit {
		p.Next = CursorAt(&p.Sessions[p.Limit-1]).String()
		return false
	}
	p.Sessions = append(p.Sessions, m)
	return true
}
