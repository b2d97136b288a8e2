package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

// patience is how long to wait for something that must happen. No test depends on timing.
const patience = 30 * time.Second

// watchEvent is what a watcher yields.
type watchEvent struct {
	head int64
	err  error
}

// watching is a running watcher.
type watching struct {
	e    *env
	ch   chan watchEvent
	stop context.CancelFunc
}

// heads is the store's own Watch, or a replacement if the store has none.
func heads(ctx context.Context, s session.Store, id string, after int64) iter.Seq2[int64, error] {
	if w, ok := session.As[session.Watcher](s); ok {
		return w.Watch(ctx, id, after)
	}
	return func(yield func(int64, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		watchers := logwatch.New(s, nil)
		defer watchers.Close()
		go func() {
			for ctx.Err() == nil {
				watchers.Notify(id)
				time.Sleep(5 * time.Millisecond)
			}
		}()
		watchers.Watch(ctx, id, after)(yield)
	}
}

// watch starts a watcher. The end of the subtest waits for it.
func (e *env) watch(s session.Store, id string, after int64) *watching {
	ctx, cancel := context.WithCancel(e.ctx())
	w := &watching{e, make(chan watchEvent, 10_000), cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.ch)
		for head, err := range heads(ctx, s, id, after) {
			w.ch <- watchEvent{head, err}
		}
	}()
	e.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(patience):
			e.Error("a watcher continues after its context ended")
		}
	})
	return w
}

// next returns the next head that the watcher yields, or false if the watcher has ended.
func (w *watching) next() (watchEvent, bool) {
	w.e.Helper()
	select {
	case n, ok := <-w.ch:
		return n, ok
	case <-time.After(patience):
		w.e.Fatal("the watcher tells nothing")
		return watchEvent{}, false
	}
}

// reach waits until the watcher has reported head. Heads must increase.
func (w *watching) reach(after, head int64) {
	w.e.Helper()
	for after < head {
		n, ok := w.next()
		if !ok || n.err != nil {
			w.e.Fatalf("the watcher ended at %d with %v, want %d", after, n.err, head)
		}
		if n.head <= after || n.head > head {
			w.e.Fatalf("the watcher reported head %d after %d, but the log ends at %d", n.head, after, head)
		}
		after = n.head
	}
}

// ends waits for the error with which the watcher ends.
func (w *watching) ends(target error) {
	w.e.Helper()
	for {
		n, ok := w.next()
		if !ok {
			w.e.Fatalf("the watcher ended without an error, want %v", target)
		}
		if n.err == nil {
			continue
		}
		want(w.e, "the watcher's end", n.err, target)
		if n, ok = w.next(); ok {
			w.e.Fatalf("the watcher continues after its error: %+v", n)
		}
		return
	}
}

func testWatchThere(e *env) {
	w := e.create("s")
	e.append(w, w.items(4)...)
	for _, after := range []int64{0, 1, 4} {
		e.watch(e.store, "s", after).reach(after, 5)
	}
	for head, err := range heads(e.ctx(), e.store, "s", 0) { // the watcher ends when the loop is left
		if head != 5 || err != nil {
			e.Fatalf("head %d, %v", head, err)
		}
		break
	}
	e.watch(e.store, "none", 0).ends(session.ErrNotFound)
	// A sequence can be ranged over again.
	seq := heads(e.ctx(), e.store, "s", 3)
	for range 2 {
		for head, err := range seq {
			if head != 5 || err != nil {
				e.Fatalf("head %d, %v", head, err)
			}
			break
		}
	}
}

func testWatchGrowth(e *env) {
	w := e.create("s")
	other := e.create("other")
	watcher := e.watch(e.store, "s", 1)
	after := int64(1)
	step := func(recs ...session.Record) {
		e.Helper()
		watcher.reach(after, w.seq)
		after = w.seq
		e.append(other, other.item("nobody watches this one"))
	}
	for range 5 {
		e.append(w, w.items(3)...)
		step()
	}
	if err := e.store.Append(e.ctx(), "s", batch(0, w.rename("without a lease"))); err != nil {
		e.Fatal(err)
	}
	step()
	if er, ok := session.As[session.Eraser](e.store); ok {
		e.append(w, w.payload(record.KindRedacted, record.Redacted{Seqs: []int64{2}}))
		step()
		if err := er.Erase(e.ctx(), "s", w.epoch, []int64{2}); err != nil {
			e.Fatal(err)
		}
		e.append(w, w.item("after the erasure"))
		step()
	}
	if l, ok := session.As[session.Leaser](e.store); ok {
		if err := l.Release(e.ctx(), "s", session.Lease{Epoch: w.epoch}); err != nil {
			e.Fatal(err)
		}
		w.epoch = e.acquire(e.store, "s")
		e.append(w, w.item("by another holder"))
		step()
	}
	f := e.fork(w, "fork", 4)
	forks := e.watch(e.store, "fork", 4)
	forks.reach(4, f.seq)
	e.append(f, f.item("x"))
	forks.reach(f.seq-1, f.seq)
}

func testWatchSecondClient(e *env) {
	if e.caps.Reopen == nil {
		e.Skip("Caps.Reopen is nil; a store with a second client sets it")
	}
	w := e.create("s")
	other := e.caps.Reopen(e, e.store)
	here, there := e.watch(e.store, "s", 1), e.watch(other, "s", 1)
	for after := int64(1); after < 20; after = w.seq {
		if err := other.Append(e.ctx(), "s", batch(w.epoch, w.item("from the second"))); err != nil {
			e.Fatal(err)
		}
		here.reach(after, w.seq)
		e.append(w, w.items(2)...)
		here.reach(w.seq-2, w.seq)
		there.reach(after, w.seq)
	}
}

func testWatchDeleted(e *env) {
	d := e.deleter()
	w := e.create("s")
	e.append(w, w.items(4)...)
	e.create("other")
	f := e.fork(w, "fork", 3)
	var all []*watching
	for _, s := range e.clients() {
		all = append(all, e.watch(s, "s", 5))
	}
	fork, other := e.watch(e.store, "fork", f.seq), e.watch(e.store, "other", 0)
	other.reach(0, 1)
	if err := d.Delete(e.ctx(), "s"); err != nil { // a part of the session is kept for the fork
		e.Fatal(err)
	}
	for _, watcher := range all {
		watcher.ends(session.ErrNotFound)
	}
	e.watch(e.store, "s", 0).ends(session.ErrNotFound)
	e.append(f, f.item("x"))
	fork.reach(f.seq-1, f.seq)
	if err := d.Delete(e.ctx(), "fork"); err != nil {
		e.Fatal(err)
	}
	fork.ends(session.ErrNotFound)
}

func testWatchCancelled(e *env) {
	w := e.create("s")
	watcher := e.watch(e.store, "s", 1)
	e.append(w, w.item("x"))
	watcher.reach(1, 2)
	watcher.stop()
	watcher.ends(context.Canceled)
	ctx, cancel := context.WithCancel(e.ctx())
	cancel()
	for _, err := range heads(ctx, e.store, "s", 0) {
		if err != nil {
			want(e, "watching under a cancelled context", err, context.Canceled)
		}
	}
	ctx, cancel = context.WithTimeout(e.ctx(), time.Millisecond)
	defer cancel()
	var last error
	for _, err := range heads(ctx, e.store, "s", w.seq) {
		last = err
	}
	want(e, "watching until a deadline", last, context.DeadlineExceeded)
}

func testWatchClosed(e *env) {
	c, ok := e.store.(io.Closer)
	if !ok {
		e.Skip("the store does not implement io.Closer, which this test needs")
	}
	e.create("s")
	watcher := e.watch(e.store, "s", 0)
	watcher.reach(0, 1)
	if err := c.Close(); err != nil {
		e.Fatal(err)
	}
	watcher.ends(session.ErrClosed)
	e.watch(e.store, "s", 0).ends(session.ErrClosed)
}

func testWatchMany(e *env) {
	const sessions = 8
	n := e.few(200, 40)
	var writers []*writer
	for i := range sessions {
		writers = append(writers, e.create(fmt.Sprint("s", i)))
	}
	var all []*watching
	for i := range n {
		all = append(all, e.watch(e.store, writers[i%sessions].id, 0))
		all[i].reach(0, 1)
	}
	for round := range 3 {
		for _, w := range writers {
			e.append(w, w.item("x"))
		}
		for _, watcher := range all {
			watcher.reach(int64(1+round), int64(2+round))
		}
	}
}

// testWatchStorm appends as fast as it can, from both clients, while watchers start and stop. Each
// watcher must reach every head that existed when it started.
func testWatchStorm(e *env) {
	stores := e.clients()
	w := e.create("s")
	rounds := e.few(150, 30)
	var wg sync.WaitGroup
	defer wg.Wait()
	last := int64(1 + rounds)
	for i, s := range stores {
		wg.Go(func() {
			for after := int64(0); after < last; {
				for head, err := range heads(e.ctx(), s, "s", after) {
					if err != nil {
						if !errors.Is(err, context.Canceled) {
							e.Errorf("watcher %d: %v", i, err)
						}
						return
					}
					if head <= after || head > last {
						e.Errorf("watcher %d: head %d after %d", i, head, after)
						return
					}
					after = head
					if after%3 == 0 { // stop, and start again
						break
					}
					if after == last {
						return
					}
				}
			}
		})
	}
	for i := range rounds {
		if err := stores[i%len(stores)].Append(e.ctx(), "s", batch(w.epoch, w.item("x"))); err != nil {
			e.Fatal(err)
		}
	}
}
