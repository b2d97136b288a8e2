package sessiontest

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// run makes a record with the status of a run; an empty status changes none.
func (w *writer) run(status string) session.Record {
	return w.payload(record.KindRunEvent, map[string]string{"event": "x", "status": status})
}

func testRun(e *env) {
	w := e.createAs("s", session.Opened{Owner: "boss"})
	if m := e.meta(e.store, "s"); m.Run != "" || m.Owner != "boss" {
		e.Fatalf("a new session: %+v", m)
	}
	for i, c := range []struct {
		lease bool
		recs  []session.Record
		want  string
	}{
		{true, []session.Record{w.item("a")}, ""},
		{false, []session.Record{w.run("running")}, "running"},
		{false, []session.Record{w.run("")}, "running"},
		{true, []session.Record{w.item("b"), w.run("waiting"), w.run("")}, "waiting"},
		{true, []session.Record{w.rename("t"), w.run("running"), w.run("failed"), w.ask("q")}, "failed"},
		{true, []session.Record{w.payload(record.KindRewrite, session.Rewrite{Reason: "truncate", TruncateAfter: "item-2", Messages: 1})}, "failed"},
	} {
		b := batch(w.epoch, c.recs...)
		if !c.lease {
			b.Epoch = 0
		}
		for range 2 { // a retry changes nothing
			if err := e.store.Append(e.ctx(), "s", b); err != nil {
				e.Fatalf("step %d: %v", i, err)
			}
			if m := e.meta(e.store, "s"); m.Run != c.want || m.Owner != "boss" {
				e.Fatalf("step %d: run %q of %q, want %q", i, m.Run, m.Owner, c.want)
			}
		}
	}
	f := e.fork(w, "fork", w.seq)
	if m := e.meta(e.store, "fork"); m.Run != "" || m.Owner != "" {
		e.Fatalf("a fork begins with a run: %+v", m)
	}
	e.append(f, f.run("completed"))
	if e.meta(e.store, "fork").Run != "completed" || e.meta(e.store, "s").Run != "failed" {
		e.Fatal("the runs of a fork and its parent are not distinguished")
	}
	if r, ok := session.As[session.Rebuilder](e.store); ok {
		m := e.meta(e.store, "s")
		m.Run, m.Owner = "cancelled", "another"
		if err := r.PutMeta(e.ctx(), m); err != nil {
			e.Fatal(err)
		}
		sameMeta(e, e.meta(e.store, "s"), m)
		if got := ids(e.list(session.Query{Run: "cancelled", Owner: "another"})); !slices.Equal(got, []string{"s"}) {
			e.Fatalf("the list does not have the new metadata: %v", got)
		}
	}
}

func testListRuns(e *env) {
	if got := e.list(session.Query{Run: "*"}); len(got.Sessions) != 0 || got.Next != "" {
		e.Fatalf("nothing ran, and: %v", got)
	}
	runs := func(id string, at time.Duration, status string, o session.Opened) *writer {
		w := e.createAt(id, at, o)
		e.append(w, w.run(status))
		return w
	}
	runs("a", 1*time.Minute, "completed", session.Opened{CWD: "/p"})
	e.createAt("b", 2*time.Minute, session.Opened{CWD: "/p"})
	c := runs("c", 3*time.Minute, "running", session.Opened{CWD: "/p"})
	d := runs("d", 4*time.Minute, "completed", session.Opened{})
	runs("wt-e", 5*time.Minute, "running", session.Opened{})
	e.createAt("c.x", 6*time.Minute, session.Opened{Owner: "c"})
	e.createAt("c.y", 7*time.Minute, session.Opened{Owner: "c", CWD: "/p"})
	check := func(q session.Query, want ...string) {
		e.Helper()
		if got := ids(e.list(q)); !slices.Equal(got, want) {
			e.Fatalf("%+v lists %v, want %v", q, got, want)
		}
		if q.Limit > 0 {
			return
		}
		var paged []string
		for q.Limit = 1; ; {
			p := e.list(q)
			paged = append(paged, ids(p)...)
			if q.After = p.Next; q.After == "" {
				break
			}
		}
		if !slices.Equal(paged, want) {
			e.Fatalf("%+v lists %v page by page, want %v", q, paged, want)
		}
	}
	check(session.Query{Run: "*"}, "d", "c", "a")
	check(session.Query{Run: "*", Worktrees: true}, "wt-e", "d", "c", "a")
	check(session.Query{Run: "*", CWD: "/p"}, "c", "a")
	check(session.Query{Run: "*", Limit: 2}, "d", "c")
	check(session.Query{Run: "completed"}, "d", "a")
	check(session.Query{Run: "completed", CWD: "/p"}, "a")
	check(session.Query{Run: "running"}, "c")
	check(session.Query{Run: "run"})
	check(session.Query{Run: "%"})
	check(session.Query{Run: "*", WithApprovals: true})
	check(session.Query{Owner: "c"}, "c.y", "c.x")
	check(session.Query{Owner: "c", CWD: "/p"}, "c.y")
	check(session.Query{Owner: "c", Run: "*"})
	check(session.Query{Owner: "b"})
	check(session.Query{Unowned: true}, "d", "c", "b", "a")
	check(session.Query{Unowned: true, CWD: "/p"}, "c", "b", "a")
	check(session.Query{Unowned: true, Owner: "c"})
	e.append(c, c.ask("q"), c.run(""))
	check(session.Query{Run: "*", WithApprovals: true}, "c")
	e.append(c, c.run("completed"))
	check(session.Query{Run: "completed", WithApprovals: true}, "c")
	check(session.Query{Run: "running"})
	if del, ok := session.As[session.Deleter](e.store); ok {
		e.fork(d, "needs d", d.seq) // so that a part of the session is kept
		for _, id := range []string{"d", "c.x"} {
			if err := del.Delete(e.ctx(), id); err != nil {
				e.Fatal(err)
			}
		}
		check(session.Query{Run: "*", CWD: "/p"}, "c", "a")
		check(session.Query{Owner: "c"}, "c.y")
	}
}
