package sessiontest

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// ask and answer make the records of an approval request.
func (w *writer) ask(id string) session.Record {
	return w.next(record.KindApprovalAsked, fmt.Appendf(nil, `{"id":%q,"use_id":"u"}`, id))
}

func (w *writer) answer(id string) session.Record {
	return w.next(record.KindApprovalResolved, fmt.Appendf(nil, `{"id":%q,"decision":"deny"}`, id))
}

func testApprovals(e *env) {
	w := e.create("s")
	e.append(w, w.items(2)...)
	for i, c := range []struct {
		lease bool
		recs  []session.Record
		want  int
	}{
		{true, []session.Record{w.item("a"), w.ask("q1")}, 1},
		{true, []session.Record{w.item("b")}, 1},
		{true, []session.Record{w.ask("q2"), w.ask("q3")}, 3},
		{false, []session.Record{w.answer("q2")}, 2},
		{true, []session.Record{w.ask("q4"), w.answer("q4"), w.item("c")}, 2},
		{true, []session.Record{w.rename("t"), w.answer("q1"), w.answer("q3")}, 0},
		{true, []session.Record{w.item("d"), w.ask("q5")}, 1},
	} {
		b := batch(w.epoch, c.recs...)
		if !c.lease {
			b.Epoch = 0
		}
		for range 2 { // a retry is not counted twice
			if err := e.store.Append(e.ctx(), "s", b); err != nil {
				e.Fatalf("step %d: %v", i, err)
			}
			if got := e.meta(e.store, "s").OpenApprovals; got != c.want {
				e.Fatalf("step %d: %d open approval requests, want %d", i, got, c.want)
			}
		}
	}
	stale := w.clone()
	stale.seq -= 3
	want(e, "an answer that comes too late", e.store.Append(e.ctx(), "s", batch(0, stale.answer("q5"))), session.ErrConflict)
	if got := e.meta(e.store, "s").OpenApprovals; got != 1 {
		e.Fatalf("a rejected batch left %d open approval requests, want 1", got)
	}
	f := e.fork(w, "fork", w.seq)
	if got := e.meta(e.store, "fork").OpenApprovals; got != 0 {
		e.Fatalf("a new fork has %d open approval requests", got)
	}
	e.append(f, f.ask("q6"))
	var folded session.Meta
	for _, r := range f.all {
		d, err := session.Fold([]session.Record{r})
		if err != nil {
			e.Fatal(err)
		}
		folded = folded.Apply(d)
	}
	sameMeta(e, e.meta(e.store, "fork"), folded)
	if folded.OpenApprovals != 1 || e.meta(e.store, "s").OpenApprovals != 1 {
		e.Fatal("the approval requests of a fork and its parent are not counted separately")
	}
}

func testListAsked(e *env) {
	if got := e.list(session.Query{WithApprovals: true}); len(got.Sessions) != 0 || got.Next != "" {
		e.Fatalf("there are no approval requests, but the list has %v", got)
	}
	asks := func(id string, at time.Duration, o session.Opened) *writer {
		w := e.createAt(id, at, o)
		e.append(w, w.ask(id+" asks"))
		return w
	}
	asks("a", 1*time.Minute, session.Opened{Project: "p"})
	e.createAt("b", 2*time.Minute, session.Opened{Project: "p"})
	c := asks("c", 3*time.Minute, session.Opened{Tag: "x"})
	asks("wt-d", 4*time.Minute, session.Opened{})
	asks("e", 3*time.Minute, session.Opened{Project: "p"})
	check := func(q session.Query, want ...string) {
		e.Helper()
		q.WithApprovals = true
		if got := ids(e.list(q)); !slices.Equal(got, want) {
			e.Fatalf("%+v lists %v, want %v", q, got, want)
		}
	}
	check(session.Query{}, "e", "c", "a")
	check(session.Query{Worktrees: true}, "wt-d", "e", "c", "a")
	check(session.Query{Project: "p"}, "e", "a")
	check(session.Query{Project: "p", Limit: 1}, "e")
	check(session.Query{Tag: "x"}, "c")
	p := e.list(session.Query{WithApprovals: true, Limit: 2})
	check(session.Query{After: p.Next}, "a")
	e.append(c, c.answer("c asks"), c.item("and on"))
	check(session.Query{}, "e", "a")
	check(session.Query{Tag: "x"})
	if d, ok := session.As[session.Deleter](e.store); ok {
		if err := d.Delete(e.ctx(), "a"); err != nil {
			e.Fatal(err)
		}
		check(session.Query{}, "e")
	}
}
