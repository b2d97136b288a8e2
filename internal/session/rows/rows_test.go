package rows_test

import (
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

func TestStatementNumberedParameters(t *testing.T) {
	d := rows.Dialect{Numbered: true, Text: func(s string) any { return []byte(s) }}
	s := d.Statement(0).Add("a = ? AND b = ?", "x", int64(2)).Add(" AND c").Add(" = ?", nil)
	if got, want := s.SQL(), "a = $1 AND b = $2 AND c = $3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []any{[]byte("x"), int64(2), nil}; !reflect.DeepEqual(s.Args, want) {
		t.Errorf("%v, want %v", s.Args, want)
	}
}

// full is a meta with a value of its own in each field.
func full(t *testing.T) session.Meta {
	t.Helper()
	var m session.Meta
	v := reflect.ValueOf(&m).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(v.Type().Field(i).Name + " é\x00\xff")
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i + 1))
		case reflect.Bool:
			f.SetBool(true)
		}
	}
	m.CreatedAt = time.Unix(1_700_000_000, 123_456_789).UTC()
	m.UpdatedAt = time.UnixMilli(1_700_000_001_234).UTC()
	m.HeadDigest = session.Digest(sha256.Sum256([]byte("head")))
	return m
}

// What is written is what is read, whichever way a driver hands text over.
func TestMetaRoundTrip(t *testing.T) {
	want := full(t)
	for _, bytes := range []bool{false, true} {
		var d rows.Dialect
		if bytes {
			d.Text = func(s string) any { return []byte(s) }
		}
		var s rows.Scan
		values, dest := d.Values(&want), s.Dest(bytes)
		if n := strings.Count(rows.Columns, ",") + 1; len(values) != n || len(dest) != n || strings.Count(rows.Marks, "?") != n {
			t.Fatalf("%d columns, %d values, %d places, %d marks", n, len(values), len(dest), strings.Count(rows.Marks, "?"))
		}
		for i := range values {
			reflect.ValueOf(dest[i]).Elem().Set(reflect.ValueOf(values[i]))
		}
		if got := s.Meta(); got != want {
			t.Errorf("bytes %v:\n got %+v\nwant %+v", bytes, got, want)
		}
	}
}

func TestAdvanceChangedColumns(t *testing.T) {
	text, none := "x", ""
	for _, c := range []struct {
		name      string
		delta     session.Delta
		has, lack []string
	}{
		{"an item", session.Delta{Messages: 1, Prompt: "p"}, []string{"CASE first_prompt"}, []string{"title", "questions", "run =", "trashed"}},
		{"a title", session.Delta{Patch: &session.MetaPatch{Title: &text}}, []string{"title = coalesce(?, title)"}, []string{"trashed"}},
		{"the trash", session.Delta{Patch: &session.MetaPatch{Trashed: &none}}, []string{"trashed = ?"}, nil},
		{"a question", session.Delta{OpenApprovals: 1}, []string{"questions = questions + ?"}, nil},
		{"a run", session.Delta{Run: "running"}, []string{"run = ?"}, nil},
		{"a prompt replaced", session.Delta{Replaced: &none, Prompt: "p"}, []string{"first_prompt = ?"}, []string{"CASE"}},
	} {
		s := new(rows.Dialect).Advance(&c.delta)
		for _, part := range c.has {
			if !strings.Contains(s.SQL(), part) {
				t.Errorf("%s: no %q in %s", c.name, part, s.SQL())
			}
		}
		for _, part := range c.lack {
			if strings.Contains(s.SQL(), part) {
				t.Errorf("%s: %q in %s", c.name, part, s.SQL())
			}
		}
		if n := strings.Count(s.SQL(), "?"); n != len(s.Args) {
			t.Errorf("%s: %d parameters, %d values", c.name, n, len(s.Args))
		}
	}
}

func TestIsItemsOnly(t *testing.T) {
	text, model := "x", "m"
	patch := &session.MetaPatch{Model: &model}
	for name, c := range map[string]struct {
		delta session.Delta
		plain bool
		model any
	}{
		"an item":    {session.Delta{Messages: 1, Bytes: 9, Prompt: "p"}, true, nil},
		"an answer":  {session.Delta{Messages: 1, LastModel: "n"}, true, "n"},
		"a patch":    {session.Delta{LastModel: "n", Patch: patch}, false, "m"},
		"a title":    {session.Delta{LastModel: "n", Patch: &session.MetaPatch{Title: &text}}, false, "n"},
		"a reset":    {session.Delta{Reset: true}, false, nil},
		"a rewrite":  {session.Delta{Replaced: &text}, false, nil},
		"a question": {session.Delta{OpenApprovals: -1}, false, nil},
		"a run":      {session.Delta{Run: "completed"}, false, nil},
		"a session":  {session.Delta{Opened: &session.Opened{}}, false, nil},
	} {
		if plain, model := rows.IsItemsOnly(&c.delta), rows.Model(&c.delta); plain != c.plain || model != c.model {
			t.Errorf("%s: plain %v, model %v", name, plain, model)
		}
	}
}

func TestListUsesDialect(t *testing.T) {
	q := session.Query{
		Project: "p", CWD: "c", Tag: "t", Parent: "f", WithApprovals: true, Run: "running", Owner: "o", OnlyTrash: true,
		After: rows.Cursor{Updated: 1, Created: 2, Nanos: 3, ID: "i"}.String(),
	}
	for name, d := range map[string]*rows.Dialect{
		"plain":    {Hint: func(index string) string { return "INDEXED BY " + index + " " }},
		"expanded": {Expanded: true},
		"numbered": {Numbered: true},
	} {
		s, err := d.List(q)
		if err != nil {
			t.Fatal(err)
		}
		sql := s.SQL()
		if n := strings.Count(sql, "?") + strings.Count(sql, "$"); n != len(s.Args) {
			t.Errorf("%s: %d parameters, %d values: %s", name, n, len(s.Args), sql)
		}
		if has, want := strings.Contains(sql, "INDEXED BY asking"), name == "plain"; has != want {
			t.Errorf("%s: hint %v: %s", name, has, sql)
		}
		if has, want := strings.Contains(sql, ") < ("), name != "expanded"; has != want {
			t.Errorf("%s: rows compared %v: %s", name, has, sql)
		}
	}
	if _, err := new(rows.Dialect).List(session.Query{After: "no cursor"}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("a foreign cursor: %v", err)
	}
}

func TestPageNextCursor(t *testing.T) {
	p := rows.Page{Limit: 2}
	var taken int
	for _, id := range []string{"a", "b", "c", "d"} {
		if !p.Add(session.Meta{ID: id}) {
			break
		}
		taken++
	}
	c, err := rows.ParseCursor(p.Next)
	if err != nil || taken != 2 || c.ID != "b" {
		t.Errorf("%d taken, next is behind %q (%v)", taken, c.ID, err)
	}
}

func TestCheck(t *testing.T) {
	rec := func(seq int64, kind session.Kind, size int) session.Record {
		return session.Record{Seq: seq, Kind: kind, Payload: make([]byte, size)}
	}
	item, shared := session.KindItem, session.Kind(record.KindMetaChanged)
	for name, c := range map[string]struct {
		b    session.Batch
		want error
	}{
		"empty":           {session.Batch{}, session.ErrInvalid},
		"a gap":           {session.Batch{Epoch: 1, Records: []session.Record{rec(1, item, 2), rec(3, item, 2)}}, session.ErrInvalid},
		"not behind":      {session.Batch{Expect: 4, Epoch: 1, Records: []session.Record{rec(4, item, 2)}}, session.ErrInvalid},
		"a huge seq":      {session.Batch{Expect: rows.MaxSeq, Epoch: 1, Records: []session.Record{rec(rows.MaxSeq+1, item, 2)}}, session.ErrInvalid},
		"a huge payload":  {session.Batch{Epoch: 1, Records: []session.Record{rec(1, item, 101)}}, session.ErrInvalid},
		"no lease":        {session.Batch{Records: []session.Record{rec(1, item, 2)}}, session.ErrFenced},
		"another session": {session.Batch{Delta: session.Delta{Opened: &session.Opened{SessionID: "t"}}, Records: []session.Record{rec(1, item, 2)}}, session.ErrInvalid},
		"shared":          {session.Batch{Records: []session.Record{rec(1, shared, 2)}}, nil},
		"held":            {session.Batch{Epoch: 1, Records: []session.Record{rec(1, item, 100)}}, nil},
	} {
		if err := rows.Check("s", &c.b, 100); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestRecordRoundTrip(t *testing.T) {
	want := session.Record{Seq: 7, ID: "r", Time: time.UnixMilli(1234), Kind: session.KindItem, Payload: []byte(`{}`)}
	want.Seal(session.Digest(sha256.Sum256(nil)))
	got, err := rows.Record("s", want.Seq, want.ID, want.Time.UnixMilli(), string(want.Kind), rows.Chain(&want), rows.Payload(&want).([]byte))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := rows.Record("s", 7, "r", 0, "item", make([]byte, 95), nil); !errors.Is(err, session.ErrCorrupt) {
		t.Errorf("short digests: %v", err)
	}
	if _, err := rows.ParseLease("s", []byte("{")); !errors.Is(err, session.ErrCorrupt) {
		t.Errorf("half a lease: %v", err)
	}
}
