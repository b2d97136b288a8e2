package sessiontest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

func never(session.Lease) bool  { return false }
func always(session.Lease) bool { return true }

func testLeaseBusy(e *env) {
	l := e.leaser()
	got, err := l.Acquire(e.ctx(), "s", lease("a"), never) // before the session exists
	if err != nil || got.Epoch <= 0 || got.Holder.ID != "a" {
		e.Fatalf("acquire: %+v %v", got, err)
	}
	if _, ok := e.find(e.store, "s"); ok {
		e.Fatal("a lease alone made a session")
	}
	_, err = l.Acquire(e.ctx(), "s", lease("b"), never)
	busy, ok := errors.AsType[*session.BusyError](err)
	if !ok || !errors.Is(err, session.ErrBusy) {
		e.Fatalf("acquire of a held lease: %v", err)
	}
	held := busy.Lease
	if busy.Session != "s" || held.Epoch != got.Epoch || held.Holder != got.Holder || !held.Since.Equal(got.Since) || !held.Expires.Equal(got.Expires) {
		e.Fatalf("the busy error says %+v, want %+v", busy, got)
	}
	if _, err := l.Acquire(e.ctx(), "other", lease("b"), never); err != nil {
		e.Fatalf("another session's lease: %v", err)
	}
}

func testLeaseSteal(e *env) {
	l := e.leaser()
	first, err := l.Acquire(e.ctx(), "s", lease("a"), never)
	if err != nil {
		e.Fatal(err)
	}
	var asked session.Lease
	second, err := l.Acquire(e.ctx(), "s", lease("b"), func(h session.Lease) bool { asked = h; return true })
	if err != nil || second.Epoch <= first.Epoch || asked.Holder.ID != "a" || asked.Epoch != first.Epoch {
		e.Fatalf("steal: %+v %v, asked about %+v", second, err, asked)
	}
	want(e, "renew of a stolen lease", l.Renew(e.ctx(), "s", first), session.ErrFenced)
	if err := l.Release(e.ctx(), "s", first); err != nil {
		e.Fatalf("release of a stolen lease: %v", err)
	}
	_, err = l.Acquire(e.ctx(), "s", lease("c"), never)
	want(e, "the client that took the lease still holds it", err, session.ErrBusy)
}

func testLeaseHeld(e *env) {
	l := e.leaser()
	readers := []session.Leaser{l}
	if e.caps.Reopen != nil {
		second, ok := session.As[session.Leaser](e.caps.Reopen(e, e.store))
		if !ok {
			e.Fatal("the second client does not implement session.Leaser")
		}
		readers = append(readers, second)
	}
	check := func(what string, want *session.Lease) {
		e.Helper()
		for i, r := range readers {
			for range 2 { // Held changes nothing
				held, err := r.Held(e.ctx(), "s")
				if err != nil {
					e.Fatalf("%s: client %d: %v", what, i, err)
				}
				if (held == nil) != (want == nil) || held != nil && (held.Epoch != want.Epoch || held.Holder != want.Holder || !held.Expires.Equal(want.Expires)) {
					e.Fatalf("%s: client %d says %+v, want %+v", what, i, held, want)
				}
			}
		}
	}
	check("no client ever held it", nil)
	first, err := l.Acquire(e.ctx(), "s", lease("a"), never)
	if err != nil {
		e.Fatal(err)
	}
	check("held", &first)
	first.Expires = first.Expires.Add(-100 * time.Hour)
	if err := l.Renew(e.ctx(), "s", first); err != nil {
		e.Fatal(err)
	}
	check("expired", &first)
	second, err := l.Acquire(e.ctx(), "s", lease("b"), always)
	if err != nil {
		e.Fatal(err)
	}
	check("stolen", &second)
	if _, err := l.Acquire(e.ctx(), "s", lease("c"), never); err == nil {
		e.Fatal("the call of Held gave the lease to another client")
	}
	if err := l.Release(e.ctx(), "s", second); err != nil {
		e.Fatal(err)
	}
	check("released", nil)
}

func testLeaseRenew(e *env) {
	l := e.leaser()
	first, err := l.Acquire(e.ctx(), "s", lease("a"), never)
	if err != nil {
		e.Fatal(err)
	}
	first.Expires = first.Expires.Add(time.Hour)
	if err := l.Renew(e.ctx(), "s", first); err != nil {
		e.Fatal(err)
	}
	_, err = l.Acquire(e.ctx(), "s", lease("b"), never)
	if busy, ok := errors.AsType[*session.BusyError](err); !ok || !busy.Lease.Expires.Equal(first.Expires) {
		e.Fatalf("after renewal: %v", err)
	}
	for range 2 {
		if err := l.Release(e.ctx(), "s", first); err != nil {
			e.Fatal(err)
		}
	}
	want(e, "renew of a released lease", l.Renew(e.ctx(), "s", first), session.ErrFenced)
	second, err := l.Acquire(e.ctx(), "s", lease("b"), func(session.Lease) bool {
		e.Error("steal was called about a released lease")
		return false
	})
	if err != nil || second.Epoch <= first.Epoch {
		e.Fatalf("acquire after release: %+v %v", second, err)
	}
}

func testLeaseFences(e *env) {
	e.leaser()
	w := e.create("s")
	old := w.epoch
	e.append(w, w.item("mine"))
	w.epoch = e.acquire(e.store, "s")
	stale := w.clone()
	err := e.store.Append(e.ctx(), "s", batch(old, stale.item("from the former holder")))
	want(e, "append with the old epoch", err, session.ErrFenced)
	stale = w.clone()
	err = e.store.Append(e.ctx(), "s", batch(w.epoch+1, stale.item("from nobody")))
	want(e, "append with an epoch never given out", err, session.ErrFenced)
	stale = w.clone()
	err = e.store.Append(e.ctx(), "s", batch(0, stale.item("without a lease")))
	want(e, "append of an item without a lease", err, session.ErrFenced)
	e.append(w, w.item("from the holder"))
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
}

func testLeaseShared(e *env) {
	e.leaser()
	w := e.create("s")
	e.append(w, w.item("x"))
	for _, r := range []session.Record{
		w.rename("by a stranger"),
		w.next(record.KindApprovalResolved, []byte(`{"id":"q"}`)),
		w.payload(record.KindPolicyChanged, record.PolicyChanged{Mode: "plan"}),
	} {
		if err := e.store.Append(e.ctx(), "s", batch(0, r)); err != nil {
			e.Fatalf("%s without a lease: %v", r.Kind, err)
		}
	}
	stale := w.clone()
	err := e.store.Append(e.ctx(), "s", batch(0, stale.rename("x"), stale.item("y")))
	want(e, "a batch that is only partly shared", err, session.ErrFenced)
	e.append(w, w.item("the holder goes on"))
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
}

func testLeaseRace(e *env) {
	l := e.leaser()
	var (
		wg     sync.WaitGroup
		won    atomic.Int64
		mu     sync.Mutex
		epochs = map[int64]bool{}
	)
	for i := range 32 {
		wg.Go(func() {
			got, err := l.Acquire(e.ctx(), "s", lease(fmt.Sprint(i)), never)
			if err == nil {
				won.Add(1)
				mu.Lock()
				epochs[got.Epoch] = true
				mu.Unlock()
			} else if !errors.Is(err, session.ErrBusy) {
				e.Errorf("acquire: %v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		e.Fatalf("%d of 32 got the lease, want 1", won.Load())
	}
	for i := range 32 {
		wg.Go(func() {
			got, err := l.Acquire(e.ctx(), "s", lease(fmt.Sprint(i)), always)
			if err != nil {
				e.Errorf("steal: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if epochs[got.Epoch] {
				e.Errorf("epoch %d was given out twice", got.Epoch)
			}
			epochs[got.Epoch] = true
		})
	}
	wg.Wait()
}

// testLeaseRemaining checks the remaining time of a lease: the store knows it from its own clock or
// a lock, or does not know it at all. No decision depends on the times in the lease.
func testLeaseRemaining(e *env) {
	l := e.leaser()
	left := func(what string) *time.Duration {
		e.Helper()
		held, err := l.Held(e.ctx(), "s")
		if err != nil || held == nil {
			e.Fatalf("%s: %+v %v", what, held, err)
		}
		if held.Remaining != nil && *held.Remaining > held.TTL {
			e.Errorf("%s: %v of %v are left", what, *held.Remaining, held.TTL)
		}
		return held.Remaining
	}
	for name, skew := range map[string]time.Duration{"a clock that is behind": -time.Hour, "a clock that is ahead": time.Hour} {
		now := time.Now().UTC().Truncate(time.Second).Add(skew)
		want := session.Lease{Holder: session.Holder{ID: name}, Since: now, Expires: now.Add(time.Minute), TTL: time.Minute}
		got, err := l.Acquire(e.ctx(), "s", want, func(held session.Lease) bool {
			if held.Remaining != nil && *held.Remaining <= 0 {
				e.Errorf("%s: %+v has run out", name, held)
			}
			return true
		})
		if err != nil {
			e.Fatal(err)
		}
		first := left(name)
		if first != nil && *first < 30*time.Second {
			e.Errorf("%s: a lease that was just acquired has %v left", name, *first)
		}
		if err := l.Renew(e.ctx(), "s", got); err != nil {
			e.Fatal(err)
		}
		if again := left(name); (again == nil) != (first == nil) || again != nil && *again < 30*time.Second {
			e.Errorf("%s: a lease that was just renewed has %v left", name, again)
		}
	}
	old := lease("of a version that used dates")
	old.TTL = 0
	if _, err := l.Acquire(e.ctx(), "s", old, always); err != nil {
		e.Fatal(err)
	}
	if got := left("old"); got != nil {
		e.Errorf("a lease without a duration has %v left", *got)
	}
}

// testLeaseFormer lets the previous holder release its lost lease; the current holder must see
// that.
func testLeaseFormer(e *env) {
	l := e.leaser()
	former := func(what string, want int64) {
		e.Helper()
		held, err := l.Held(e.ctx(), "s")
		if err != nil || held == nil {
			e.Fatalf("%s: %+v %v", what, held, err)
		}
		switch {
		case want == 0 && held.Previous != nil:
			e.Errorf("%s: taken from %+v", what, held.Previous)
		case want != 0 && (held.Previous == nil || held.Previous.Epoch != want || held.Previous.Holder.ID == ""):
			e.Errorf("%s: taken from %+v, want epoch %d", what, held.Previous, want)
		}
	}
	first, err := l.Acquire(e.ctx(), "s", lease("a"), never)
	if err != nil || first.Previous != nil {
		e.Fatalf("%+v %v", first, err)
	}
	former("no client had it", 0)
	second, err := l.Acquire(e.ctx(), "s", lease("b"), always)
	if err != nil || second.Previous == nil || second.Previous.Epoch != first.Epoch || second.Previous.Holder.ID != "a" {
		e.Fatalf("%+v %v", second, err)
	}
	former("stolen", first.Epoch)
	if err := l.Renew(e.ctx(), "s", second); err != nil {
		e.Fatal(err)
	}
	former("renewed", first.Epoch)
	stranger := first
	stranger.Epoch = second.Epoch + 100
	for _, old := range []session.Lease{stranger, first, first} {
		if err := l.Release(e.ctx(), "s", old); err != nil {
			e.Fatal(err)
		}
	}
	former("given back", 0)
	if err := l.Renew(e.ctx(), "s", session.Lease{Epoch: second.Epoch, Holder: second.Holder, Since: second.Since, Expires: second.Expires, TTL: second.TTL}); err != nil {
		e.Errorf("renew by the current holder: %v", err)
	}
	if err := l.Release(e.ctx(), "s", second); err != nil {
		e.Fatal(err)
	}
	third, err := l.Acquire(e.ctx(), "s", lease("c"), never)
	if err != nil || third.Previous != nil {
		e.Errorf("%+v %v", third, err)
	}
	former("released", 0)
}
