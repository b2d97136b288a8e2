package sessiontest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/session"
)

func testRanges(e *env) {
	w := e.create("s")
	for range 9 {
		e.append(w, w.item("x"))
	}
	for _, r := range []session.Range{
		{},
		{After: 3},
		{Until: 4},
		{After: 3, Until: 7},
		{Limit: 2},
		{After: 3, Limit: 2},
		{Limit: 100},
		{After: 9},
		{After: 10},
		{After: 99},
		{Until: 99},
		{After: 5, Until: 5},
		{After: 6, Until: 5},
		{After: 9, Until: 99},
	} {
		for _, r.Reverse = range []bool{false, true} {
			var exp []session.Record
			for _, rec := range w.all {
				if rec.Seq > r.After && (r.Until == 0 || rec.Seq <= r.Until) {
					exp = append(exp, rec)
				}
			}
			if r.Reverse {
				slices.Reverse(exp)
			}
			if r.Limit > 0 && len(exp) > r.Limit {
				exp = exp[:r.Limit]
			}
			got := e.read(e.store, "s", r)
			if len(got) != len(exp) {
				e.Fatalf("%+v yields %d records, want %d", r, len(got), len(exp))
			}
			same(e, "range", got, exp)
		}
	}
}

func testStop(e *env) {
	w := e.create("s")
	e.append(w, w.items(50)...)
	for _, reverse := range []bool{false, true} {
		n := 0
		for _, err := range e.store.Read(e.ctx(), "s", session.Range{Reverse: reverse}) {
			if err != nil {
				e.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
		}
		e.append(w, w.item("a reader that stopped does not block appends"))
	}
	// Ranging over a sequence again reads again and sees new records.
	seq := e.store.Read(e.ctx(), "s", session.Range{After: 51})
	for range 2 {
		n := 0
		for _, err := range seq {
			if err != nil {
				e.Fatal(err)
			}
			n++
		}
		if n != 2 {
			e.Fatalf("ranging again yields %d records, want 2", n)
		}
	}
}

func testReadCancelled(e *env) {
	w := e.create("s")
	e.append(w, w.items(10)...)
	ctx, cancel := context.WithCancel(e.ctx())
	cancel()
	var last error
	for _, err := range e.store.Read(ctx, "s", session.Range{}) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		e.Fatalf("reading under a cancelled context ends with %v", last)
	}
	_, err := e.store.List(ctx, session.Query{})
	want(e, "list under a cancelled context", err, context.Canceled)
}

func testReadWhileAppending(e *env) {
	w := e.create("s")
	const n = 60
	var wg sync.WaitGroup
	acked := make(chan int64, n)
	wg.Go(func() {
		defer close(acked)
		for range n {
			r := w.item("x")
			if err := e.store.Append(e.ctx(), "s", batch(w.epoch, r)); err != nil {
				e.Errorf("append: %v", err)
				return
			}
			acked <- r.Seq
		}
	})
	for seq := range acked {
		var last session.Record
		for r, err := range e.store.Read(e.ctx(), "s", session.Range{}) {
			if err != nil {
				e.Fatal(err)
			}
			if r.Seq != last.Seq+1 || r.Prev != last.Digest {
				e.Fatalf("a reader saw record %d after %d", r.Seq, last.Seq)
			}
			last = r
		}
		if last.Seq < seq {
			e.Fatalf("record %d was acknowledged, a later reader saw %d at most", seq, last.Seq)
		}
	}
	wg.Wait()
}

func testSecondClient(e *env) {
	if e.caps.Reopen == nil {
		e.Skip("Caps.Reopen is nil; a store with a second client sets it")
	}
	w := e.create("s")
	e.append(w, w.items(3)...)
	other := e.caps.Reopen(e, e.store)
	same(e, "second client", e.read(other, "s", session.Range{}), w.all)
	sameMeta(e, e.meta(other, "s"), e.meta(e.store, "s"))
	// Each client immediately sees the records that were acknowledged to the other client.
	for range 5 {
		if err := other.Append(e.ctx(), "s", batch(w.epoch, w.item("from the second"))); err != nil {
			e.Fatalf("append by the second client with the lease's epoch: %v", err)
		}
		same(e, "first", e.read(e.store, "s", session.Range{}), w.all)
		e.append(w, w.item("from the first"))
		same(e, "second", e.read(other, "s", session.Range{}), w.all)
		if a, b := e.meta(e.store, "s").Head, e.meta(other, "s").Head; a != w.seq || b != w.seq {
			e.Fatalf("heads are %d and %d, want %d", a, b, w.seq)
		}
	}
	stale := w.clone()
	e.append(w, w.item("first wins"))
	err := other.Append(e.ctx(), "s", batch(w.epoch, stale.item("second loses")))
	want(e, "append by the second client at an old head", err, session.ErrConflict)
	same(e, "second", e.read(other, "s", session.Range{}), w.all)
	if l, ok := session.As[session.Leaser](other); ok {
		_, err := l.Acquire(e.ctx(), "s", lease("other"), func(session.Lease) bool { return false })
		want(e, "acquire by the second client", err, session.ErrBusy)
	}
	wo, r := opened("made by the second", session.Opened{})
	if err := other.Append(e.ctx(), wo.id, batch(0, r)); err != nil {
		e.Fatal(err)
	}
	same(e, "first", e.read(e.store, wo.id, session.Range{}), wo.all)
}
