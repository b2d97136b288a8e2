package sessiontest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// runSearch runs the tests for the searcher of a store. They are skipped if it has none.
func runSearch(t *testing.T, open func(t testing.TB) session.Store, caps Capabilities) {
	for _, c := range []struct {
		name string
		test func(*finder)
	}{
		{"search/words", testSearchWords},
		{"search/means nothing but words", testSearchLiteral},
		{"search/filters", testSearchFilters},
		{"search/pages without gaps", testSearchPages},
		{"search/excerpts and marks", testSearchExcerpts},
		{"search/erased text", testSearchErased},
		{"search/deleted session", testSearchDeleted},
		{"search/forks and rewrites", testSearchForks},
		{"search/follows the log", testSearchFollows},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			found := caps.Index(t, s)
			if found == nil {
				t.Skip("the store does not implement session.Searcher, which this test needs")
			}
			if err := found.Index(t.Context()); errors.Is(err, session.ErrUnsupported) {
				t.Skip("the store hides its searcher (ErrUnsupported)")
			}
			e := &env{T: t, caps: caps, store: s, open: open}
			c.test(&finder{env: e, search: found})
		})
	}
}

// finder is a subtest with a searcher.
type finder struct {
	*env
	search session.Searcher
}

func (f *finder) index() {
	f.Helper()
	if err := f.search.Index(f.ctx()); err != nil {
		f.Fatalf("index: %v", err)
	}
}

// find searches and returns "session:seq" of each hit.
func (f *finder) find(q session.Search) []string {
	f.Helper()
	return hitStrings(f.hits(q))
}

func (f *finder) hits(q session.Search) *session.Hits {
	f.Helper()
	h, err := f.search.Search(f.ctx(), q)
	if err != nil {
		f.Fatalf("search %+v: %v", q, err)
	}
	return h
}

func hitStrings(h *session.Hits) []string {
	var out []string
	for _, hit := range h.Hits {
		out = append(out, fmt.Sprintf("%s:%d", hit.Session, hit.Seq))
	}
	return out
}

// finds fails the test if the hits of a search are not these, in any order.
func (f *finder) finds(q session.Search, want ...string) {
	f.Helper()
	got := f.find(q)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		f.Fatalf("%+v finds %v, want %v", q, got, want)
	}
}

// addItems appends items with these texts.
func (f *finder) addItems(w *writer, texts ...string) {
	f.Helper()
	var recs []session.Record
	for _, t := range texts {
		recs = append(recs, w.item(t))
	}
	f.append(w, recs...)
}

func testSearchWords(f *finder) {
	f.index() // index an empty store
	f.finds(session.Search{Words: "anything"})
	w := f.create("s")
	f.addItems(w,
		"The quick brown fox jumps over the lazy dog",     // 2
		"A quick answer about naïve Ångström and STRASSE", // 3
		"foxes run; quick-witted brown bears do not",      // 4
		"日本語 のテキスト and 北京",                                // 5
		"err_code=E1234 in src/main.go:42",                // 6
		"Über den Fluß",                                   // 7
	)
	f.index()
	for _, c := range []struct {
		words string
		want  []string
	}{
		{"fox", []string{"s:2"}},
		{"FOX", []string{"s:2"}},
		{"fox*", []string{"s:2", "s:4"}},
		{"quick brown", []string{"s:2", "s:4"}},
		{"brown quick", []string{"s:2", "s:4"}},
		{`"quick brown"`, []string{"s:2"}},
		{`"brown quick"`, nil},
		{`"quick brown" dog`, []string{"s:2"}},
		{`"quick brown" bears`, nil},
		{`"lazy do*"`, []string{"s:2"}},
		{"quick", []string{"s:2", "s:3", "s:4"}},
		{"qui", nil},
		{"naive", []string{"s:3"}},
		{"NAÏVE", []string{"s:3"}},
		{"angstrom", []string{"s:3"}},
		{"uber", []string{"s:7"}},
		{"über", []string{"s:7"}},
		{"E1234", []string{"s:6"}},
		{"e1234", []string{"s:6"}},
		{"main.go", []string{"s:6"}},
		{"nowhere", nil},
		{"quick nowhere", nil},
	} {
		f.finds(session.Search{Words: c.words}, c.want...)
	}
	f.finds(session.Search{Words: "  fox \t\n dog "}, "s:2")
}

// testSearchLiteral searches for characters that have a meaning in query languages. The characters
// must never cause an error, and a search must match only the words between them.
func testSearchLiteral(f *finder) {
	w := f.create("s")
	f.addItems(w, "alpha beta", "gamma delta", "near and or not", "title:alpha", "100% of it_is *bold*")
	f.index()
	for words, want := range map[string][]string{
		"alpha OR gamma":       nil,
		"alpha AND beta":       nil,
		"alpha NOT beta":       nil,
		"alpha | gamma":        nil,
		"alpha & gamma":        nil,
		"alpha !beta":          {"s:2"},
		"alpha -beta":          {"s:2"},
		"alpha +beta":          {"s:2"},
		"NEAR(alpha beta)":     nil,
		"near and or not":      {"s:4"},
		"(alpha":               {"s:2", "s:5"},
		"alpha)":               {"s:2", "s:5"},
		"alpha ^beta":          {"s:2"},
		"{alpha} : beta":       {"s:2"},
		"title:alpha":          {"s:5"},
		"alph%":                nil,
		"alph_":                nil,
		"'alpha'; drop table":  nil,
		`alpha "`:              {"s:2", "s:5"},
		`"alpha`:               {"s:2", "s:5"},
		`alpha <-> beta`:       {"s:2"},
		`alpha:* beta:A`:       nil,
		"100%":                 {"s:6"},
		"alpha\x00beta":        {"s:2"},
		"alpha \\ beta":        {"s:2"},
		"$alpha ?beta @1":      nil,
		"\"alpha\" \"beta\"":   {"s:2"},
		"beta alpha beta beta": {"s:2"},
	} {
		f.finds(session.Search{Words: words}, want...)
	}
	for _, nothing := range []string{`""`, "*", "* *", "!", "%", `"*"`, "()", `\`} { // no words: an error or nothing
		if h, err := f.search.Search(f.ctx(), session.Search{Words: nothing}); err != nil {
			want(f, "search for "+nothing, err, session.ErrInvalid)
		} else if len(h.Hits) > 0 {
			f.Fatalf("search for %q, which has no words, finds %v", nothing, hitStrings(h))
		}
	}
}

func testSearchFilters(f *finder) {
	a := f.createAs("a", session.Opened{Project: "p", CWD: "/x", Title: "a title"})
	use := func(w *writer, id, tool, input string) session.Record {
		return w.put(transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{
			transcript.ToolUse{ID: id, Name: tool, Input: []byte(input)},
		}})
	}
	f.append(a,
		a.item("needle from a person"), // 2
		a.put(transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "needle, says the model"}}}), // 3
		use(a, "u1", "Bash", `{"command":"grep needle"}`), // 4
		a.put(transcript.ToolResult{UseID: "u1", Content: []transcript.Part{transcript.Text{Text: "needle: 1"}}}.Item()),
		use(a, "u2", "Read", `{"path":"/needle"}`), // 6
		a.put(transcript.ToolResult{UseID: "u2", Content: []transcript.Part{transcript.Text{Text: "a needle read"}}}.Item()),
	)
	b := f.createAs("b", session.Opened{Project: "q", CWD: "/x"})
	b.now = epoch.Add(time.Hour)
	f.addItems(b, "needle much later") // 2
	c := f.createAs("c", session.Opened{Project: "p", CWD: "/y"})
	f.append(c, c.item("needle in the trash"), c.trash("2026-01-02T03:04:05Z"))
	f.index()
	at := func(seq int64) time.Time { return a.all[seq-1].Time }
	for _, q := range []struct {
		q    session.Search
		want []string
	}{
		{session.Search{}, []string{"a:2", "a:3", "a:4", "a:5", "a:6", "a:7", "b:2"}},
		{session.Search{Role: "user"}, []string{"a:2", "b:2"}},
		{session.Search{Role: "assistant"}, []string{"a:3", "a:4", "a:6"}},
		{session.Search{Role: "tool"}, []string{"a:5", "a:7"}},
		{session.Search{Tool: "Bash"}, []string{"a:4", "a:5"}},
		{session.Search{Tool: "Bash", Role: "tool"}, []string{"a:5"}},
		{session.Search{Tool: "Read"}, []string{"a:6", "a:7"}},
		{session.Search{Tool: "bash%"}, nil},
		{session.Search{Session: "a", Role: "user"}, []string{"a:2"}},
		{session.Search{Session: "b"}, []string{"b:2"}},
		{session.Search{Session: "none"}, nil},
		{session.Search{Project: "q"}, []string{"b:2"}},
		{session.Search{CWD: "/x", Role: "user"}, []string{"a:2", "b:2"}},
		{session.Search{CWD: "/y"}, nil},
		{session.Search{OnlyTrash: true}, []string{"c:2"}},
		{session.Search{WithTrash: true, Project: "p", Role: "user"}, []string{"a:2", "c:2"}},
		{session.Search{Since: at(7)}, []string{"a:7", "b:2"}},
		{session.Search{Until: at(3)}, []string{"a:2"}},
		{session.Search{Since: at(3), Until: at(5)}, []string{"a:3", "a:4"}},
		{session.Search{Since: epoch.Add(2 * time.Hour)}, nil},
	} {
		q.q.Words = "needle"
		f.finds(q.q, q.want...)
	}
	h := f.hits(session.Search{Words: "needle", Tool: "Bash", Role: "tool"}).Hits
	if h[0].Tool != "Bash" || h[0].Role != "tool" || h[0].Title != "a title" || h[0].CWD != "/x" || !h[0].Time.Equal(at(5)) {
		f.Fatalf("hit: %+v", h[0])
	}
	if newest := f.find(session.Search{Words: "needle", Limit: 1}); !slices.Equal(newest, []string{"b:2"}) {
		f.Fatalf("the newest hit is %v", newest)
	}
}

func testSearchPages(f *finder) {
	const n = 67
	var all []string
	var writers []*writer
	for i := range 3 {
		writers = append(writers, f.create(fmt.Sprint("s", i)))
	}
	for i := range n { // the three sessions' items share times
		w := writers[i%3]
		f.addItems(w, fmt.Sprintf("needle %d", i))
		all = append(all, fmt.Sprintf("%s:%d", w.id, w.seq))
	}
	f.index()
	slices.Sort(all)
	if got := f.find(session.Search{Words: "needle"}); len(got) != 50 {
		f.Fatalf("%d hits without a limit, want 50", len(got))
	}
	for _, size := range []int{1, 7, 50, n, n + 1} {
		q := session.Search{Words: "needle", Limit: size}
		var got []string
		last := time.Time{}
		for range n + 2 {
			h := f.hits(q)
			if len(h.Hits) > size {
				f.Fatalf("%d hits on a page of %d", len(h.Hits), size)
			}
			for _, hit := range h.Hits {
				if !last.IsZero() && hit.Time.After(last) {
					f.Fatalf("hits are not in the order of their times: %v after %v", hit.Time, last)
				}
				last = hit.Time
			}
			got = append(got, hitStrings(h)...)
			if q.After = h.Next; q.After == "" {
				break
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, all) {
			f.Fatalf("pages of %d give %d hits, want %d", size, len(got), n)
		}
	}
	_, err := f.search.Search(f.ctx(), session.Search{Words: "needle", After: "not a cursor"})
	want(f, "a cursor that no store returned", err, session.ErrInvalid)
}

func testSearchExcerpts(f *finder) {
	w := f.create("s")
	filler := strings.Repeat("straw 草 ", 4000)
	f.addItems(w, filler+"the NÉEDLE\nis\there "+filler, "needle", "x needle y needle z")
	f.index()
	for _, hit := range f.hits(session.Search{Words: "needle"}).Hits {
		if len(hit.Excerpt) > 500 || !utf8.ValidString(hit.Excerpt) || strings.ContainsAny(hit.Excerpt, "\n\t\r") {
			f.Fatalf("the excerpt of record %d has %d bytes: %q", hit.Seq, len(hit.Excerpt), hit.Excerpt)
		}
		if len(hit.Marks) == 0 {
			f.Fatalf("record %d has no marks in %q", hit.Seq, hit.Excerpt)
		}
		for _, m := range hit.Marks {
			if m[0] < 0 || m[1] <= m[0] || m[1] > len(hit.Excerpt) {
				f.Fatalf("mark %v of an excerpt of %d bytes", m, len(hit.Excerpt))
			}
			if got := strings.ToLower(strings.ReplaceAll(hit.Excerpt[m[0]:m[1]], "É", "E")); got != "needle" {
				f.Fatalf("record %d: mark %v is %q in %q", hit.Seq, m, got, hit.Excerpt)
			}
		}
	}
}

func testSearchErased(f *finder) {
	er := f.eraser()
	w := f.create("s")
	f.addItems(w, "a secret needle", "another needle")
	f.index()
	f.finds(session.Search{Words: "secret"}, "s:2")
	f.append(w, w.payload(record.KindRedacted, record.Redacted{Seqs: []int64{2}}))
	if err := er.Erase(f.ctx(), "s", w.epoch, []int64{2}); err != nil {
		f.Fatal(err)
	}
	f.index()
	f.finds(session.Search{Words: "secret"})
	f.finds(session.Search{Words: "needle"}, "s:3")
}

func testSearchDeleted(f *finder) {
	d := f.deleter()
	for _, id := range []string{"s", "sess", "other"} {
		w := f.create(id)
		f.addItems(w, "a needle")
	}
	f.index()
	f.finds(session.Search{Words: "needle"}, "s:2", "sess:2", "other:2")
	if err := d.Delete(f.ctx(), "s"); err != nil {
		f.Fatal(err)
	}
	f.index()
	f.finds(session.Search{Words: "needle"}, "sess:2", "other:2")
	again := f.create("s") // another session of the same id
	f.addItems(again, "nothing here", "straw")
	f.index()
	f.finds(session.Search{Words: "needle"}, "sess:2", "other:2")
	f.finds(session.Search{Words: "straw"}, "s:3")
}

func testSearchForks(f *finder) {
	w := f.create("s")
	f.addItems(w, "needle one", "needle two", "needle three")
	k := f.fork(w, "fork", 3)
	f.addItems(k, "needle of the fork")
	f.append(w, w.payload(record.KindRewrite, session.Rewrite{Reason: "truncate", TruncateAfter: "item-2", Messages: 1}))
	f.index()
	f.finds(session.Search{Words: "needle", Session: "fork"}, "fork:5")
	got := f.find(session.Search{Words: "needle"})
	for _, must := range []string{"s:2", "fork:5"} { // the search may or may not find text that was cut off
		if !slices.Contains(got, must) {
			f.Fatalf("found %v, without %s", got, must)
		}
	}
}

func testSearchFollows(f *finder) {
	w := f.create("s")
	f.addItems(w, "needle one")
	f.index()
	f.finds(session.Search{Words: "needle"}, "s:2")
	f.addItems(w, "needle two")
	if h := f.hits(session.Search{Words: "needle"}); len(h.Hits) == 1 && h.NotIndexed == 0 {
		f.Fatal("the index is out of date but does not report it")
	}
	f.runConcurrently(4, func(int) error { return f.search.Index(f.ctx()) }) // at once
	f.index()
	f.finds(session.Search{Words: "needle"}, "s:2", "s:3")
	if h := f.hits(session.Search{Words: "needle"}); h.NotIndexed != 0 {
		f.Fatalf("an index that is up to date reports %d sessions as not indexed", h.NotIndexed)
	}
	f.append(w, w.rename("another title"), w.trash("2026-01-02T03:04:05Z"))
	f.index()
	f.finds(session.Search{Words: "needle"})
	h := f.hits(session.Search{Words: "needle", OnlyTrash: true}).Hits
	if len(h) != 2 || h[0].Title != "another title" {
		f.Fatalf("hits: %+v", h)
	}
}
