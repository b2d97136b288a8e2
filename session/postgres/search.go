package postgres

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/internal/session/searchtext"
	"github.com/holdfast-dev/holdfast/session"
)

// defaultHits is the number of hits in a page if the query sets none.
const defaultHits = 50

// Search implements [session.Searcher]. The index finds texts with all the words; phrases are then
// matched in the text of the record itself, so erased and deleted text is no longer found.
func (s *Store) Search(ctx context.Context, q session.Search) (*session.Hits, error) {
	words, err := searchtext.ParseWords(q.Words)
	if err != nil {
		return nil, err
	}
	if q.Limit <= 0 {
		q.Limit = defaultHits
	}
	q.Limit = min(q.Limit, math.MaxInt-1) // search for one hit more than the page has
	at, err := parseHitPosition(q.After)
	if err != nil {
		return nil, err
	}
	var out *session.Hits
	err = s.do(ctx, "search", q.Session, func(c *pgxpool.Conn, _ bool) error {
		out = &session.Hits{Hits: []session.Hit{}}
		for at := at; ; {
			next, more, err := s.searchStep(ctx, c, q, words, at, out)
			if err != nil {
				return err
			}
			if at = next; !more {
				break
			}
		}
		return c.QueryRow(ctx, `SELECT count(*)`+notIndexed).Scan(&out.NotIndexed)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// hitPosition is the position of a hit in the order of hits. Its text form is a cursor.
type hitPosition struct {
	Time int64 `json:"t"`
	Num  int64 `json:"n"`
	Seq  int64 `json:"s"`
}

func (p *hitPosition) String() string {
	b, _ := json.Marshal(p) // numbers cannot fail
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseHitPosition(cursor string) (*hitPosition, error) {
	if cursor == "" {
		return nil, nil
	}
	var p hitPosition
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return nil, &session.Error{
			Op: "search", Err: session.ErrInvalid, Detail: "the cursor is not from this store",
			Hint: "start again without a cursor",
		}
	}
	return &p, nil
}

// searchStep reads the next texts from the index, after at, and adds the matches to out. The result
// more is true if there may be further matches and the page has room for them.
func (s *Store) searchStep(ctx context.Context, c *pgxpool.Conn, q session.Search, words searchtext.Words, at *hitPosition, out *session.Hits) (_ *hitPosition, more bool, err error) {
	n := q.Limit - len(out.Hits) + 1
	st := candidates(q, words, at).Add(` ORDER BY x.time_ms DESC, x.num DESC, x.seq DESC LIMIT ?`, int64(n))
	found, err := c.Query(ctx, st.SQL(), st.Args...)
	if err != nil {
		return nil, false, err
	}
	defer found.Close()
	seen := 0
	for found.Next() {
		var now hitPosition
		var e searchtext.Entry
		var id, title, cwd, tool, payload []byte
		if err := found.Scan(&now.Num, &now.Seq, &now.Time, &e.TextSeq, &e.Role, &tool, &e.Parts, &id, &title, &cwd, &payload); err != nil {
			return nil, false, err
		}
		e.Seq = now.Seq
		seen++
		text, _ := searchtext.Text(payload, &e)
		marks, ok := words.Find(text)
		if !ok {
			at = &now
			continue
		}
		if len(out.Hits) == q.Limit {
			out.Next = at.String()
			return at, false, nil
		}
		at = &now
		h := session.Hit{
			Session: string(id), Seq: now.Seq, Time: rows.Time(now.Time), Role: e.Role,
			Tool: string(tool), Title: string(title), CWD: string(cwd),
		}
		h.Excerpt, h.Marks = searchtext.Excerpt(text, marks)
		out.Hits = append(out.Hits, h)
	}
	return at, seen == n, found.Err()
}

// candidates returns the query for texts that have all the words and may have the phrases.
func candidates(q session.Search, words searchtext.Words, at *hitPosition) *rows.Statement {
	st := dialect.Statement(16).Add(`SELECT x.num, x.seq, x.time_ms, x.source, x.role, x.tool, x.parts, s.id, s.title, s.cwd, r.payload
FROM search x JOIN sessions s ON s.num = x.num JOIN records r ON r.num = x.num AND r.seq = x.source
WHERE x.words @@ convert_from(?, 'UTF8')::tsquery AND s.deleted = 0 AND r.payload IS NOT NULL`, query(words))
	if q.Tool != "" {
		st.Add(` AND x.tool = ?`, q.Tool)
	} else {
		st.Add(` AND x.whole`)
	}
	if q.Role != "" {
		st.Add(` AND convert_to(x.role, 'UTF8') = ?`, q.Role)
	}
	ms := func(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() } // records have whole milliseconds
	if !q.Since.IsZero() {
		st.Add(` AND x.time_ms >= ?`, ms(q.Since))
	}
	if !q.Until.IsZero() {
		st.Add(` AND x.time_ms < ?`, ms(q.Until))
	}
	for _, f := range []struct{ term, value string }{
		{` AND s.project = ?`, q.Project},
		{` AND s.cwd = ?`, q.CWD},
		{` AND s.id = ?`, q.Session},
	} {
		if f.value != "" {
			st.Add(f.term, f.value)
		}
	}
	switch {
	case q.WithTrash:
	case q.OnlyTrash:
		st.Add(` AND s.trashed <> ''`)
	default:
		st.Add(` AND s.trashed = ''`)
	}
	if at != nil {
		st.Add(` AND (x.time_ms, x.num, x.seq) < (?, ?, ?)`, at.Time, at.Num, at.Seq)
	}
	return st
}

// query returns the text form of a tsquery. The words contain only letters, digits and marks.
func query(words searchtext.Words) string {
	var terms []string
	for _, t := range words {
		for i, token := range t.Tokens {
			term := "'" + token + "'"
			if t.Prefix && i == len(t.Tokens)-1 {
				term += ":*"
			}
			terms = append(terms, term)
		}
	}
	return "(" + strings.Join(terms, " & ") + ") | '" + moreWords + "'"
}
