package sessiontest

import (
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// fork starts a fork of w at the given seq.
func (e *env) fork(w *writer, id string, seq int64) *writer {
	e.Helper()
	f, r := forked(w, id, seq)
	e.append(f, r)
	f.epoch = e.acquire(e.store, id)
	return f
}

func forked(w *writer, id string, seq int64) (*writer, session.Record) {
	base := w.all[len(w.all)-int(w.seq-seq)-1]
	return opened(id, session.Opened{Base: &session.Base{Parent: w.id, Seq: seq, Digest: base.Digest, Messages: int(seq) - 1}})
}

func testFork(e *env) {
	w := e.create("parent")
	e.append(w, w.items(5)...)
	f := e.fork(w, "fork", 4)
	if f.all[0].Seq != 5 {
		e.Fatal("the fork made by the test does not continue from its base")
	}
	e.append(f, f.items(3)...)
	e.append(w, w.item("the parent goes on"))
	same(e, "fork", e.read(e.store, "fork", session.Range{}), f.all)
	same(e, "fork after 6", e.read(e.store, "fork", session.Range{After: 6}), f.all[2:])
	same(e, "fork's last", e.read(e.store, "fork", session.Range{Reverse: true, Limit: 1}), f.all[3:])
	same(e, "parent", e.read(e.store, "parent", session.Range{}), w.all)
	if m := e.meta(e.store, "fork"); m.Parent != "parent" || m.ParentSeq != 4 || m.MessageCount != 6 || m.Head != 8 {
		e.Fatalf("meta of the fork: %+v", m)
	}
	g := e.fork(f, "fork of fork", 6)
	same(e, "fork of fork", e.read(e.store, g.id, session.Range{}), g.all)
	_, again := forked(w, "fork", 3)
	err := e.store.Append(e.ctx(), "fork", batch(0, again))
	want(e, "fork to a taken id", err, session.ErrExists)
}

func testForkCut(e *env) {
	w := e.create("parent")
	e.append(w, w.items(5)...)
	f, first := forked(w, "fork", 5)
	e.append(f, first, f.payload(record.KindRewrite, session.Rewrite{Reason: "truncate", TruncateAfter: "item-2", Messages: 1}))
	same(e, "fork", e.read(e.store, "fork", session.Range{}), f.all)
	if m := e.meta(e.store, "fork"); m.MessageCount != 1 || m.Head != 7 {
		e.Fatalf("meta of the fork: %+v", m)
	}
	n, first := opened("new", session.Opened{})
	e.append(n, append([]session.Record{first}, n.items(2)...)...) // this must succeed even without a lease
	same(e, "new", e.read(e.store, "new", session.Range{}), n.all)
}

func testForkMissing(e *env) {
	w := e.create("parent")
	e.append(w, w.items(2)...)
	_, r := opened("orphan", session.Opened{Base: &session.Base{Parent: "nobody", Seq: 2, Digest: w.prev}})
	err := e.store.Append(e.ctx(), "orphan", batch(0, r))
	want(e, "fork of no session", err, session.ErrNotFound)
	if _, ok := e.find(e.store, "orphan"); ok {
		e.Fatal("a refused fork left a session behind")
	}
}

func testDelete(e *env) {
	d := e.deleter()
	w := e.create("s")
	e.append(w, w.items(3)...)
	keep := e.create("kept")
	if err := d.Delete(e.ctx(), "s"); err != nil {
		e.Fatal(err)
	}
	if _, ok := e.find(e.store, "s"); ok {
		e.Fatal("a deleted session is still listed")
	}
	if got := ids(e.list(session.Query{})); len(got) != 1 || got[0] != "kept" {
		e.Fatalf("list after delete: %v", got)
	}
	for _, err := range e.store.Read(e.ctx(), "s", session.Range{}) {
		want(e, "read a deleted session", err, session.ErrNotFound)
	}
	want(e, "delete again", d.Delete(e.ctx(), "s"), session.ErrNotFound)
	want(e, "delete what never was", d.Delete(e.ctx(), "never"), session.ErrNotFound)
	if err := e.store.Append(e.ctx(), "s", batch(w.epoch, w.item("too late"))); err == nil {
		e.Fatal("the deleted session's holder could append")
	}
	again := e.create("s") // no fork needs the old session, so its id can be used again
	same(e, "made again", e.read(e.store, "s", session.Range{}), again.all)
	same(e, "kept", e.read(e.store, "kept", session.Range{}), keep.all)
	if old := w.epoch; old != 0 && again.epoch <= old {
		e.Fatalf("epoch %d after delete, want more than %d", again.epoch, old)
	}
}

func testDeleteParent(e *env) {
	d := e.deleter()
	w := e.create("parent")
	e.append(w, w.items(9)...)
	low, high := e.fork(w, "low", 3), e.fork(w, "high", 6)
	if err := d.Delete(e.ctx(), "parent"); err != nil {
		e.Fatal(err)
	}
	if got := ids(e.list(session.Query{})); len(got) != 2 {
		e.Fatalf("list after deleting the parent: %v", got)
	}
	m, ok := e.find(e.store, "parent")
	if !ok || !m.Deleted {
		e.Fatalf("a deleted parent that forks need is not marked as deleted: %+v %v", m, ok)
	}
	same(e, "the parent's records up to the fork", e.read(e.store, "parent", session.Range{Until: 6}), w.all[:6])
	if n := len(e.read(e.store, "parent", session.Range{})); n != 6 {
		e.Errorf("a deleted parent keeps %d records, its forks need 6", n)
	}
	want(e, "delete again", d.Delete(e.ctx(), "parent"), session.ErrNotFound)
	_, r := opened("parent", session.Opened{Title: "another"})
	want(e, "the id of a deleted parent", e.store.Append(e.ctx(), "parent", batch(0, r)), session.ErrExists)
	err := e.store.Append(e.ctx(), "parent", batch(0, w.rename("x")))
	want(e, "rename of a deleted parent", err, session.ErrNotFound)
	o := session.Opened{Base: &session.Base{Parent: "parent", Seq: 3, Digest: w.all[2].Digest, Messages: 2}}
	_, f := opened("late", o)
	want(e, "fork of a deleted session", e.store.Append(e.ctx(), "late", batch(0, f)), session.ErrNotFound)
	e.append(low, low.item("forks go on"))
	e.append(high, high.item("both of them"))
	same(e, "low", e.read(e.store, "low", session.Range{}), low.all)
}

func testDeleteLast(e *env) {
	d := e.deleter()
	w := e.create("grandparent")
	e.append(w, w.items(4)...)
	p := e.fork(w, "parent", 4)
	e.append(p, p.items(3)...)
	e.fork(p, "child", 6)
	e.fork(p, "sibling", 7)
	del := func(id string) {
		e.Helper()
		if err := d.Delete(e.ctx(), id); err != nil {
			e.Fatalf("delete %s: %v", id, err)
		}
	}
	there := func(id string, want bool) {
		e.Helper()
		if _, ok := e.find(e.store, id); ok != want {
			e.Fatalf("%s is there: %v, want %v", id, ok, want)
		}
	}
	del("grandparent")
	del("parent")
	del("child")
	there("grandparent", true)
	there("parent", true)
	there("child", false)
	del("sibling")
	there("sibling", false)
	there("parent", false)
	there("grandparent", false)
	e.create("grandparent")
}
