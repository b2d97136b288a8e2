package sessiontest

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

func ids(p session.Page) []string {
	var out []string
	for _, m := range p.Sessions {
		out = append(out, m.ID)
	}
	return out
}

func (e *env) list(q session.Query) session.Page {
	e.Helper()
	p, err := e.store.List(e.ctx(), q)
	if err != nil {
		e.Fatalf("list %+v: %v", q, err)
	}
	return p
}

// createAt starts a session with a given update time.
func (e *env) createAt(id string, updated time.Duration, o session.Opened) *writer {
	e.Helper()
	w := e.createAs(id, o)
	w.now = epoch.Add(updated)
	e.append(w, w.item(id))
	return w
}

func testListOrder(e *env) {
	if p := e.list(session.Query{}); len(p.Sessions) != 0 || p.Next != "" {
		e.Fatalf("an empty store lists %v", p)
	}
	e.createAt("b", time.Hour, session.Opened{})
	first := e.createAt("a", time.Minute, session.Opened{})
	e.createAt("c", 2*time.Hour, session.Opened{})
	e.createAt("d", time.Hour, session.Opened{}) // the same times as b, so the id decides
	if got, want := ids(e.list(session.Query{})), []string{"c", "d", "b", "a"}; !slices.Equal(got, want) {
		e.Fatalf("list is %v, want %v", got, want)
	}
	first.now = epoch.Add(3 * time.Hour)
	e.append(first, first.item("news"))
	if got, want := ids(e.list(session.Query{Limit: 2})), []string{"a", "c"}; !slices.Equal(got, want) {
		e.Fatalf("list is %v, want %v", got, want)
	}
}

func testListFilters(e *env) {
	base := e.createAt("1", 1*time.Minute, session.Opened{Project: "p", CWD: "/a", Tag: "x"})
	e.createAt("2", 2*time.Minute, session.Opened{Project: "p", CWD: "/b"})
	e.createAt("3", 3*time.Minute, session.Opened{Project: "q", CWD: "/a", Tag: "x"})
	e.createAt("wt-4", 4*time.Minute, session.Opened{Project: "p"})
	e.createAt("WT-7", 30*time.Second, session.Opened{Project: "q"})
	e.createAt("wt", 5*time.Minute, session.Opened{})
	fork, r := opened("6", session.Opened{Project: "q", Base: &session.Base{Parent: "1", Seq: base.seq, Digest: base.prev, Messages: 1}})
	fork.now = epoch
	e.append(fork, r)
	for _, c := range []struct {
		q    session.Query
		want []string
	}{
		{session.Query{}, []string{"wt", "3", "2", "1", "6"}},
		{session.Query{Worktrees: true}, []string{"wt", "wt-4", "3", "2", "1", "WT-7", "6"}},
		{session.Query{Project: "p"}, []string{"2", "1"}},
		{session.Query{Project: "p", Worktrees: true}, []string{"wt-4", "2", "1"}},
		{session.Query{Project: "p", Limit: 1}, []string{"2"}},
		{session.Query{CWD: "/a"}, []string{"3", "1"}},
		{session.Query{Tag: "x"}, []string{"3", "1"}},
		{session.Query{Tag: "x", Project: "q"}, []string{"3"}},
		{session.Query{Parent: "1"}, []string{"6"}},
		{session.Query{ID: "wt-4"}, []string{"wt-4"}},
		{session.Query{Project: "%"}, nil},
		{session.Query{Project: "P"}, nil},
		{session.Query{Limit: -1}, []string{"wt", "3", "2", "1", "6"}},
	} {
		if got := ids(e.list(c.q)); !slices.Equal(got, c.want) {
			e.Errorf("%+v lists %v, want %v", c.q, got, c.want)
		}
	}
}

func testListPages(e *env) {
	const n = 23
	for i := range n { // three sessions share each time
		e.createAt(fmt.Sprintf("s%02d", i), time.Duration(i/3)*time.Minute, session.Opened{Project: "p"})
	}
	all := ids(e.list(session.Query{Project: "p"}))
	if len(all) != n {
		e.Fatalf("%d sessions, want %d", len(all), n)
	}
	for _, size := range []int{1, 2, 5, n - 1, n, n + 1} {
		var got []string
		q := session.Query{Project: "p", Limit: size}
		for range n + 1 {
			p := e.list(q)
			got = append(got, ids(p)...)
			if q.After = p.Next; q.After == "" {
				break
			}
		}
		if !slices.Equal(got, all) {
			e.Fatalf("pages of %d give %v, want %v", size, got, all)
		}
	}
	// Sessions that are created or changed between two pages do not affect the position of the
	// other sessions.
	p := e.list(session.Query{Project: "p", Limit: 10})
	e.createAt("new", 10*time.Hour, session.Opened{Project: "p"})
	rest := e.list(session.Query{Project: "p", After: p.Next})
	if got := append(ids(p), ids(rest)...); !slices.Equal(got, all) {
		e.Fatalf("with a new session between two pages: %v, want %v", got, all)
	}
}

func testListCursor(e *env) {
	e.create("s")
	_, err := e.store.List(e.ctx(), session.Query{After: "not a cursor"})
	want(e, "a cursor that no store returned", err, session.ErrInvalid)
}
