package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// cursor is where a page ended: the sort key of its last session.
type cursor struct {
	Updated int64  `json:"u"`
	Created int64  `json:"c"`
	Nanos   int64  `json:"n"`
	ID      string `json:"i"`
}

func (c cursor) String() string {
	b, _ := json.Marshal(c) // numbers and a string cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(text string) (c cursor, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		return c, &session.Error{
			Op: "list", Err: session.ErrInvalid, Detail: "the cursor is not one of this store",
			Hint: "start again without a cursor",
		}
	}
	return c, nil
}

// List implements [session.Store]. The index has what is sorted and what is
// mostly filtered by, so that only the sessions of the page are fetched.
func (s *Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	var page session.Page
	sql, args, err := listSQL(q)
	if err != nil {
		return page, err
	}
	var last cursor
	err = s.read(ctx, "list", q.ID, func(c *conn) error {
		return c.query(sql, func(r []driver.Value) bool {
			if q.Limit > 0 && len(page.Sessions) == q.Limit {
				page.Next = last.String()
				return false
			}
			last = cursor{Updated: asInt(r[3]), Created: asInt(r[4]), Nanos: asInt(r[5]), ID: asText(r[0])}
			page.Sessions = append(page.Sessions, scanMeta(r))
			return true
		}, args...)
	})
	if err != nil {
		return session.Page{}, err
	}
	return page, nil
}

func listSQL(q session.Query) (string, []any, error) {
	var b strings.Builder
	var args []any
	where := func(term string, values ...any) {
		b.WriteString(term)
		args = append(args, values...)
	}
	b.WriteString("SELECT " + metaColumns + " FROM sessions ")
	if index := indexFor(q); index != "" {
		b.WriteString("INDEXED BY " + index + " ")
	}
	b.WriteString("WHERE ")
	if q.ID != "" {
		where("id = ?", q.ID)
	} else {
		where("deleted = 0")
		switch q.Trash {
		case "":
			where(" AND trashed = ''")
		case session.TrashOnly:
			where(" AND trashed <> ''")
		}
		if !q.Worktrees {
			where(" AND substr(id, 1, 3) <> 'wt-'")
		}
	}
	for _, f := range []struct{ column, value string }{
		{"project", q.Project}, {"cwd", q.CWD}, {"tag", q.Tag}, {"parent", q.Parent},
	} {
		if f.value != "" {
			where(" AND "+f.column+" = ?", f.value)
		}
	}
	if q.Asked {
		where(" AND questions > 0")
	}
	switch q.Run {
	case "":
	case "*":
		where(" AND run <> ''")
	default:
		where(" AND run <> '' AND run = ?", q.Run)
	}
	if q.Owner != "" {
		where(" AND owner <> '' AND owner = ?", q.Owner)
	}
	if q.After != "" {
		c, err := parseCursor(q.After)
		if err != nil {
			return "", nil, err
		}
		where(" AND (updated_ms, created_ms, created_ns, id) < (?, ?, ?, ?)", c.Updated, c.Created, c.Nanos, c.ID)
	}
	b.WriteString(" ORDER BY updated_ms DESC, created_ms DESC, created_ns DESC, id DESC")
	return b.String(), args, nil
}

// indexFor names the index that finds few sessions, where there are few: sorting them
// costs less than passing over the rest. Where there may be many and few are wanted,
// the newest first are looked at until there are enough.
func indexFor(q session.Query) string {
	switch {
	case q.ID != "":
		return ""
	case q.Asked:
		return "asking"
	case q.Owner != "":
		return "owned"
	case q.Trash != "":
		return ""
	case q.Run == "":
		return ""
	case q.Limit > 0 && (q.Run == "*" || q.Run == "completed"):
		return "recent"
	}
	return "runs"
}
