package sessiontest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// operation is an operation on a leased session, for the linearizability checker.
type operation struct {
	what   string // "take", "release", "append" or "look"
	epoch  int64  // epoch of the lease that is released or used for the append
	expect session.Digest
	digest session.Digest
}

// outcome is the result of an operation: the epoch acquired, the head seen, or the error.
type outcome struct {
	err   error // nil, session.ErrConflict or session.ErrFenced
	epoch int64
	head  session.Digest
}

// leaseState is the state of a session for the checker. Epoch 0 means that there is no holder.
type leaseState struct {
	head  session.Digest
	epoch int64
	last  int64
}

// leaseModel models a head that only the holder of the last lease may change, by compare-and-set.
var leaseModel = porcupine.Model{
	Init: func() any { return leaseState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(leaseState), input.(operation), output.(outcome)
		switch in.what {
		case "take":
			return out.epoch > s.last, leaseState{s.head, out.epoch, out.epoch}
		case "release":
			if s.epoch == in.epoch {
				s.epoch = 0
			}
			return true, s
		case "look":
			return out.head == s.head, s
		}
		switch {
		case out.err == nil:
			fits := in.expect == s.head && (in.epoch == s.epoch || s.last == 0)
			s.head = in.digest
			return fits, s
		case errors.Is(out.err, session.ErrFenced):
			return in.epoch != s.epoch, s
		}
		return in.expect != s.head, s
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

// history collects operations.
type history struct {
	tick atomic.Int64
	mu   sync.Mutex
	ops  []porcupine.Operation
}

func (h *history) do(client int, in operation, f func() outcome) outcome {
	from := h.tick.Add(1)
	out := f()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: from, Return: h.tick.Add(1)})
	return out
}

// testTakeoverRace lets clients take a session from each other and append, each with the lease that
// it believes it has.
func testTakeoverRace(e *env) {
	e.leaser()
	const clients = 5
	stores := e.clients()
	w, r := opened("s", session.Opened{})
	e.append(w, r)
	h := &history{}
	h.do(clients, operation{what: "append", digest: w.prev}, func() outcome { return outcome{} })
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			t := takeoverClient{e: e, h: h, client: i, store: stores[i%len(stores)]}
			for n := range e.few(12, 6) {
				if !t.round(n) {
					return
				}
			}
		})
	}
	wg.Wait()
	if e.Failed() {
		e.FailNow()
	}
	if porcupine.CheckOperationsTimeout(leaseModel, h.ops, 20*time.Second) != porcupine.Ok {
		e.Fatal("the history of takeovers and heads is not linearizable")
	}
	checkEpochsRise(e, e.read(e.store, "s", session.Range{After: 1}))
}

// takeoverClient is one client of the race.
type takeoverClient struct {
	e      *env
	h      *history
	client int
	store  session.Store
	epoch  int64
}

// round sometimes acquires the lease, and appends at the head that it sees.
func (t *takeoverClient) round(n int) bool {
	e := t.e
	if n%3 == 0 {
		l, _ := session.As[session.Leaser](t.store)
		var err error
		t.epoch = t.h.do(t.client, operation{what: "take"}, func() outcome {
			var got session.Lease
			got, err = l.Acquire(e.ctx(), "s", lease(fmt.Sprint(t.client)), always)
			return outcome{epoch: got.Epoch}
		}).epoch
		if err != nil {
			e.Errorf("acquire: %v", err)
			return false
		}
	}
	var m session.Meta
	var err error
	t.h.do(t.client, operation{what: "look"}, func() outcome {
		var p session.Page
		if p, err = t.store.List(e.ctx(), session.Query{ID: "s"}); err == nil {
			m = p.Sessions[0]
		}
		return outcome{head: m.HeadDigest}
	})
	if err != nil {
		e.Errorf("list: %v", err)
		return false
	}
	mine := &writer{id: "s", seq: m.Head, prev: m.HeadDigest, now: epoch}
	r := mine.item(fmt.Sprintf("%d client %d round %d", t.epoch, t.client, n))
	t.h.do(t.client, operation{what: "append", epoch: t.epoch, expect: m.HeadDigest, digest: r.Digest}, func() outcome {
		err = t.store.Append(e.ctx(), "s", batch(t.epoch, r))
		for _, known := range []error{session.ErrConflict, session.ErrFenced} {
			if errors.Is(err, known) {
				err = nil
				return outcome{err: known}
			}
		}
		return outcome{}
	})
	if err != nil {
		e.Errorf("append: %v", err)
		return false
	}
	if n%5 == 4 {
		l, _ := session.As[session.Leaser](t.store)
		t.h.do(t.client, operation{what: "release", epoch: t.epoch}, func() outcome {
			err = l.Release(e.ctx(), "s", session.Lease{Epoch: t.epoch})
			return outcome{}
		})
	}
	if err != nil {
		e.Errorf("release: %v", err)
	}
	return err == nil
}

// checkEpochsRise fails the test if an epoch at the start of an item is lower than the one before:
// a writer must not write after it lost its lease.
func checkEpochsRise(e *env, recs []session.Record) {
	e.Helper()
	var last int64
	for _, r := range recs {
		it, err := record.ReadItem(r.Payload)
		if err != nil {
			e.Fatal(err)
		}
		epoch, err := strconv.ParseInt(strings.Fields(it.Item.Text())[0], 10, 64)
		if err != nil {
			e.Fatal(err)
		}
		if epoch < last {
			e.Fatalf("record %d was written with epoch %d, after one with %d", r.Seq, epoch, last)
		}
		last = epoch
	}
}

// testTakeover takes over a session while its holder appends as fast as it can. Every record that
// was acknowledged to the holder must be stored, and none of its records may be stored after the
// takeover.
func testTakeover(e *env) {
	e.leaser()
	stores := e.clients()
	for round := range e.few(20, 4) {
		id := fmt.Sprint("s", round)
		w := e.create(id)
		acked := make(chan int64, 10_000)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(acked)
			for n := range cap(acked) {
				r := w.item(fmt.Sprintf("%d old %d", w.epoch, n))
				err := e.store.Append(e.ctx(), id, batch(w.epoch, r))
				if errors.Is(err, session.ErrFenced) || errors.Is(err, session.ErrConflict) {
					return
				}
				if err != nil {
					e.Errorf("append: %v", err)
					return
				}
				acked <- r.Seq
			}
		})
		last := <-acked // the holder is appending
		other := stores[len(stores)-1]
		taken := e.acquire(other, id)
		m := e.meta(other, id)
		next := &writer{id: id, epoch: taken, seq: m.Head, prev: m.HeadDigest, now: epoch}
		mine := next.items(1 + round%3)
		if err := other.Append(e.ctx(), id, batch(taken, mine...)); err != nil {
			e.Errorf("append after the takeover: %v", err)
		}
		for seq := range acked {
			last = seq
		}
		wg.Wait()
		if e.Failed() {
			e.FailNow()
		}
		if last > m.Head {
			e.Fatalf("record %d was acknowledged to the former holder, the head at the takeover was %d", last, m.Head)
		}
		for _, s := range stores {
			recs := e.read(s, id, session.Range{})
			same(e, "of the former holder", recs[:m.Head], w.all[:m.Head])
			same(e, "of the new one", recs[m.Head:], mine)
		}
	}
}

// testEpochs acquires leases of several sessions at once. No epoch of a session may be used twice,
// and later leases must have greater epochs, even after a deletion.
func testEpochs(e *env) {
	e.leaser()
	stores := e.clients()
	var mu sync.Mutex
	given := map[string][]int64{}
	take := func(s session.Store, id string) error {
		l, _ := session.As[session.Leaser](s)
		got, err := l.Acquire(e.ctx(), id, lease("x"), always)
		mu.Lock()
		defer mu.Unlock()
		given[id] = append(given[id], got.Epoch)
		return err
	}
	d, deletes := session.As[session.Deleter](e.store)
	for round := range 3 {
		e.runConcurrently(8, func(i int) error {
			for n := range e.few(6, 3) {
				if err := take(stores[i%len(stores)], fmt.Sprint("s", (i+n)%4)); err != nil {
					return err
				}
			}
			return nil
		})
		for id, all := range given {
			highest := slices.Max(all)
			if deletes && round < 2 {
				_, r := opened(id, session.Opened{})
				if err := e.store.Append(e.ctx(), id, batch(0, r)); err != nil {
					e.Fatal(err)
				}
				if err := d.Delete(e.ctx(), id); err != nil {
					e.Fatal(err)
				}
			}
			if err := take(stores[len(stores)-1], id); err != nil {
				e.Fatal(err)
			}
			if got := given[id][len(all)]; got <= highest {
				e.Fatalf("epoch %d of %s, it had %d before", got, id, highest)
			}
		}
	}
	for id, all := range given {
		slices.Sort(all)
		if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
			e.Fatalf("%d epochs of %s were given out twice: %v", len(all)-n, id, all)
		}
	}
}
