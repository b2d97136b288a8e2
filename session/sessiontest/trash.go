package sessiontest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// trash makes the record that moves a session to the trash or, with "", restores it.
func (w *writer) trash(at string) session.Record {
	return w.payload(record.KindMetaChanged, session.MetaPatch{Trashed: &at})
}

func testTrash(e *env) {
	const at = "2026-01-02T03:04:05Z"
	a := e.createAt("a", 1*time.Minute, session.Opened{Project: "p"})
	e.createAt("b", 2*time.Minute, session.Opened{Project: "p"})
	c := e.createAt("c", 3*time.Minute, session.Opened{})
	d := e.createAt("d", 4*time.Minute, session.Opened{Project: "p"})
	check := func(q session.Query, want ...string) {
		e.Helper()
		for _, s := range e.clients() {
			p, err := s.List(e.ctx(), q)
			if err != nil || !slices.Equal(ids(p), want) {
				e.Fatalf("%+v lists %v (%v), want %v", q, ids(p), err, want)
			}
		}
	}
	put := func(w *writer, at string) {
		e.Helper()
		b := batch(0, w.trash(at)) // it needs no lease
		for range 2 {              // and may be retried
			if err := e.store.Append(e.ctx(), w.id, b); err != nil {
				e.Fatal(err)
			}
		}
		if got := e.meta(e.store, w.id).Trashed; got != at {
			e.Fatalf("trashed is %q, want %q", got, at)
		}
	}
	put(a, at)
	put(d, at)
	check(session.Query{}, "c", "b")
	check(session.Query{Project: "p"}, "b")
	check(session.Query{OnlyTrash: true}, "d", "a")
	check(session.Query{OnlyTrash: true, Project: "p", Limit: 1}, "d")
	check(session.Query{WithTrash: true}, "d", "c", "b", "a")
	check(session.Query{ID: "a"}, "a")
	same(e, "a session in the trash", e.read(e.store, "a", session.Range{}), a.all)
	put(d, "2026-01-03T03:04:05Z") // moved again, later
	e.append(a, a.item("its writer goes on"), a.rename("title"))
	check(session.Query{OnlyTrash: true}, "d", "a")
	e.append(c, c.trash(at), c.trash(""), c.rename("the last one counts"))
	check(session.Query{OnlyTrash: true}, "d", "a")
	put(d, "")
	check(session.Query{OnlyTrash: true}, "a")
	check(session.Query{}, "d", "c", "b")
	e.fork(a, "fork", a.seq)
	if got := e.meta(e.store, "fork").Trashed; got != "" {
		e.Fatalf("a fork of a session in the trash is in the trash too: %q", got)
	}
	if r, ok := session.As[session.Rebuilder](e.store); ok {
		m := e.meta(e.store, "b")
		m.Trashed = at
		if err := r.PutMeta(e.ctx(), m); err != nil {
			e.Fatal(err)
		}
		check(session.Query{OnlyTrash: true}, "b", "a")
	}
	if del, ok := session.As[session.Deleter](e.store); ok {
		if err := del.Delete(e.ctx(), "a"); err != nil { // a fork needs it
			e.Fatal(err)
		}
		for _, q := range []session.Query{{OnlyTrash: true}, {WithTrash: true}} {
			if p := e.list(q); slices.Contains(ids(p), "a") {
				e.Fatalf("a deleted session is listed among those in the trash: %v", ids(p))
			}
		}
	}
}

// testTrashSessions uses the calls that the commands of the command line use.
func testTrashSessions(e *env) {
	e.leaser()
	s := session.New(e.store, nil)
	l, err := s.Create(e.ctx(), session.Opened{SessionID: "s"})
	if err != nil {
		e.Fatal(err)
	}
	want(e, "trash while it is open", session.New(e.store, nil).Trash(e.ctx(), "s"), session.ErrBusy)
	if err := l.Close(); err != nil {
		e.Fatal(err)
	}
	if err := s.Trash(e.ctx(), "s"); err != nil {
		e.Fatal(err)
	}
	_, err = s.Open(e.ctx(), "s", nil)
	want(e, "open a session in the trash", err, session.ErrTrashed)
	before := e.read(e.store, "s", session.Range{})
	if err := s.Trash(e.ctx(), "s"); err != nil {
		e.Fatalf("trash again: %v", err)
	}
	same(e, "trashing again appends nothing", e.read(e.store, "s", session.Range{}), before)
	if err := s.Untrash(e.ctx(), "s"); err != nil {
		e.Fatal(err)
	}
	if l, err = s.Open(e.ctx(), "s", nil); err != nil {
		e.Fatal(err)
	}
	if err := l.Close(); err != nil {
		e.Fatal(err)
	}
	want(e, "trash of no session", s.Trash(e.ctx(), "none"), session.ErrNotFound)
}

// testListTogether lists with every combination of filters and compares with the result of
// [session.Query.Select] on the metadata of all sessions.
func testListTogether(e *env) {
	dice := rand.New(rand.NewPCG(1, 2)) // the same sessions in every run
	pick := func(of ...string) string { return of[dice.IntN(len(of))] }
	var all []session.Meta
	for i := range 48 {
		id := fmt.Sprintf("%ss%02d", pick("", "", "", "wt-"), i)
		o := session.Opened{Project: pick("", "p", "q"), CWD: pick("/a", "/b"), Tag: pick("", "x"), Owner: pick("", "", "boss")}
		var parent string
		if i > 8 && dice.IntN(4) == 0 {
			m := all[dice.IntN(3)]
			parent, o.Base = m.ID, &session.Base{Parent: m.ID, Seq: m.Head, Digest: m.HeadDigest}
		}
		w, r := opened(id, o)
		w.now = epoch.Add(time.Duration(dice.IntN(20)) * time.Minute)
		recs := []session.Record{r, w.item(id)}
		if dice.IntN(3) == 0 {
			recs = append(recs, w.ask("q"))
		}
		if run := pick("", "", "running", "completed"); run != "" {
			recs = append(recs, w.run(run))
		}
		if dice.IntN(3) == 0 {
			recs = append(recs, w.trash("2026-01-02T03:04:05Z"))
		}
		if err := e.store.Append(e.ctx(), id, batch(0, recs...)); err != nil {
			e.Fatalf("append to %s, a fork of %q: %v", id, parent, err)
		}
		all = append(all, e.meta(e.store, id))
	}
	if d, ok := session.As[session.Deleter](e.store); ok {
		for _, i := range []int{0, 20} { // the first page has forks
			if err := d.Delete(e.ctx(), all[i].ID); err != nil {
				e.Fatal(err)
			}
			if m, ok := e.find(e.store, all[i].ID); ok {
				all[i] = m
			} else {
				all[i].Deleted = true
			}
		}
	}
	n, step := 0, e.few(1, 23)
	for q := range queries(all[1].ID) {
		if n++; n%step == 0 {
			e.compare(q, all)
		}
	}
	q := session.Query{ID: all[5].ID, Project: "nobody's", OnlyTrash: true, WithApprovals: true, Run: "none"}
	if got := ids(e.list(q)); !slices.Equal(got, []string{all[5].ID}) {
		e.Fatalf("a query for one id lists %v, although its other fields must be ignored", got)
	}
}

// queries yields every combination of filters.
func queries(parent string) func(yield func(session.Query) bool) {
	return func(yield func(session.Query) bool) {
		for n := range 3 * 2 * 2 * 2 * 2 * 2 * 3 * 2 * 2 * 3 {
			pick := func(of ...string) string {
				i := n % len(of)
				n /= len(of)
				return of[i]
			}
			trash := pick("", "only", "with")
			q := session.Query{
				Project: pick("", "p", "q"), CWD: pick("", "/a"), Tag: pick("", "x"), Parent: pick("", parent),
				Worktrees: pick("", "yes") != "", WithApprovals: pick("", "yes") != "",
				Run: pick("", "*", "running"), Owner: pick("", "boss"), Unowned: pick("", "yes") != "", OnlyTrash: trash == "only", WithTrash: trash == "with",
			}
			if !yield(q) {
				return
			}
		}
	}
}

// compare lists everything at once and page by page.
func (e *env) compare(q session.Query, all []session.Meta) {
	e.Helper()
	p, err := q.Select(all)
	if err != nil {
		e.Fatal(err)
	}
	want := ids(p)
	if got := ids(e.list(q)); !slices.Equal(got, want) {
		e.Fatalf("%+v lists %v, want %v", q, got, want)
	}
	if len(want) < 2 {
		return
	}
	var paged []string
	for q.Limit = (len(want) + 1) / 2; ; {
		p := e.list(q)
		paged = append(paged, ids(p)...)
		if q.After = p.Next; q.After == "" || len(paged) > len(want) {
			break
		}
	}
	if !slices.Equal(paged, want) {
		e.Fatalf("%+v lists %v page by page, want %v", q, paged, want)
	}
}

// testListBytes filters by texts that are different bytes but equal in a database's collation, as a
// pattern or as the start of an index key.
func testListBytes(e *env) {
	deep := long("/folder", 500)
	texts := []string{
		"p", "P", "p ", " p", "p\x00", "ｐ", "p%", "p_", "p*", "%", "_", "*", "p\\", "p'", "p\"", "é", "e\u0301", "E", "ß", "ss", "ı", "i", "İ", "日本", "日本 ",
		"🙂", "🙃", "null", "0", "00", deep, deep + "/a", deep + "/b", "\n", "\t", "[p]", "{p}",
	}
	for i, text := range texts {
		w, r := opened(fmt.Sprint("s", i), session.Opened{Project: text, CWD: text, Tag: text, Owner: text})
		if err := e.store.Append(e.ctx(), w.id, batch(0, r, w.run(text))); err != nil {
			e.Fatalf("append with %q: %v", text, err)
		}
	}
	for i, text := range texts {
		want := []string{fmt.Sprint("s", i)}
		for _, q := range []session.Query{{Project: text}, {CWD: text}, {Tag: text}, {Owner: text}, {Run: text}} {
			if text == "*" && q.Run == text {
				continue // matches any status
			}
			if got := ids(e.list(q)); !slices.Equal(got, want) {
				e.Fatalf("%+v lists %v, want %v", q, got, want)
			}
		}
	}
	for _, q := range []session.Query{{Project: "p  "}, {CWD: deep + "/"}, {Tag: "Ss"}, {Owner: "%p%"}, {Run: "p%p"}} {
		if got := ids(e.list(q)); len(got) > 0 {
			e.Fatalf("%+v lists %v", q, got)
		}
	}
}
