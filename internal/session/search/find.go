package search

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/searchtext"
	"github.com/holdfast-dev/holdfast/session"
)

// defaultLimit is the number of hits of a page if the query sets none.
const defaultLimit = 50

// pagePosition is the position at which a page ends.
type pagePosition struct {
	Time int64 `json:"t"`
	Row  int64 `json:"r"`
}

// Search implements [session.Searcher]. Records appended since the last [Index.Index] are not
// found; NotIndexed is the number of sessions with such records.
func (x *Index) Search(ctx context.Context, q session.Search) (*session.Hits, error) {
	words, err := searchtext.ParseWords(q.Words)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	text, args, err := sqlOf(&q, words)
	if err != nil {
		return nil, err
	}
	out := &session.Hits{Hits: []session.Hit{}}
	if out.NotIndexed, err = x.pending(ctx); err != nil {
		return nil, err
	}
	rows, err := x.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, failed("search", err)
	}
	defer rows.Close()
	var last pagePosition
	for rows.Next() {
		c, err := scan(rows)
		if err != nil {
			return nil, failed("search", err)
		}
		hit, found, err := x.hit(ctx, c, words)
		if err != nil {
			return nil, err
		}
		if !found { // erased after indexing
			continue
		}
		if len(out.Hits) == limit {
			b, _ := json.Marshal(last) // two numbers cannot fail
			out.Next = base64.RawURLEncoding.EncodeToString(b)
			return out, nil
		}
		out.Hits = append(out.Hits, hit)
		last = pagePosition{c.time, c.row}
	}
	if err := rows.Err(); err != nil {
		return nil, failed("search", err)
	}
	return out, nil
}

// pending counts the sessions with records that are not indexed.
func (x *Index) pending(ctx context.Context) (int, error) {
	page, err := x.store.List(ctx, session.Query{Worktrees: true, WithTrash: true})
	if err != nil {
		return 0, err
	}
	known, err := x.known(ctx)
	if err != nil {
		return 0, failed("search", err)
	}
	n := 0
	for i := range page.Sessions {
		if s, ok := known[page.Sessions[i].ID]; !ok || s.head != page.Sessions[i].Head {
			n++
		}
	}
	return n, nil
}

func sqlOf(q *session.Search, words searchtext.Words) (string, []any, error) {
	var b strings.Builder
	var args []any
	where := func(term string, values ...any) {
		b.WriteString(" AND " + term)
		args = append(args, values...)
	}
	b.WriteString(`SELECT e.row, e.seq, e.origin, e.time_ms, e.role, e.tool, e.parts, s.id, s.title, s.cwd
FROM words w JOIN entries e ON e.row = w.rowid JOIN sessions s ON s.num = e.num WHERE w.text MATCH ?`)
	args = append(args, match(words))
	for _, f := range []struct{ column, value string }{
		{"e.tool", q.Tool}, {"e.role", q.Role}, {"s.project", q.Project}, {"s.cwd", q.CWD}, {"s.id", q.Session},
	} {
		if f.value != "" {
			where(f.column+" = ?", f.value)
		}
	}
	if q.Tool == "" {
		where("e.whole = 1")
	}
	if !q.Since.IsZero() {
		where("e.time_ms >= ?", ceilMilli(q.Since))
	}
	if !q.Until.IsZero() {
		where("e.time_ms < ?", ceilMilli(q.Until))
	}
	switch {
	case q.WithTrash:
	case q.OnlyTrash:
		where("s.trashed = 1")
	default:
		where("s.trashed = 0")
	}
	if q.After != "" {
		var p pagePosition
		raw, err := base64.RawURLEncoding.DecodeString(q.After)
		if err == nil {
			err = json.Unmarshal(raw, &p)
		}
		if err != nil {
			return "", nil, &session.Error{Op: "search", Err: session.ErrInvalid, Detail: "the cursor is not from this index", Hint: "start again without a cursor"}
		}
		where("(e.time_ms, e.row) < (?, ?)", p.Time, p.Row)
	}
	b.WriteString(" ORDER BY e.time_ms DESC, e.row DESC")
	return b.String(), args, nil
}

// ceilMilli returns the first whole millisecond not before t: record times are whole milliseconds.
func ceilMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return ms
}

// candidate is a row that has all the words according to the index.
type candidate struct {
	row, time  int64
	entry      searchtext.Entry
	id         string
	title, cwd string
}

func scan(rows *sql.Rows) (*candidate, error) {
	c := &candidate{}
	var parts string
	e := &c.entry
	if err := rows.Scan(&c.row, &e.Seq, &e.TextSeq, &c.time, &e.Role, &e.Tool, &parts, &c.id, &c.title, &c.cwd); err != nil {
		return nil, err
	}
	return c, json.Unmarshal([]byte(parts), &e.Parts)
}

// hit reads the text from the store, where it may have been erased meanwhile.
func (x *Index) hit(ctx context.Context, c *candidate, words searchtext.Words) (session.Hit, bool, error) {
	for r, err := range x.store.Read(ctx, c.id, session.Range{After: c.entry.TextSeq - 1, Until: c.entry.TextSeq}) {
		switch {
		case errors.Is(err, session.ErrCorrupt), skipsSession(err):
			return session.Hit{}, false, nil
		case err != nil:
			return session.Hit{}, false, err
		}
		text, ok := searchtext.Text(r.Payload, &c.entry)
		if !ok {
			return session.Hit{}, false, nil
		}
		marks, found := words.Find(text)
		if !found {
			return session.Hit{}, false, nil
		}
		h := session.Hit{
			Session: c.id, Seq: c.entry.Seq, Time: time.UnixMilli(c.time).UTC(), Role: c.entry.Role, Tool: c.entry.Tool,
			Title: c.title, CWD: c.cwd,
		}
		h.Excerpt, h.Marks = searchtext.Excerpt(text, marks)
		return h, true, nil
	}
	return session.Hit{}, false, nil
}
