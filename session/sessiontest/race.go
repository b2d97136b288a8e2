package sessiontest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-dev/holdfast/session"
)

// call is an append or a read of the head, for the linearizability checker.
type call struct {
	append bool
	expect session.Digest // digest of the head that the append expects
	digest session.Digest // digest of the appended record
}

// answer is the result of a call.
type answer struct {
	ok   bool
	head session.Digest // the head that was read
}

// headModel models the head as a register that changes by compare-and-set.
var headModel = porcupine.Model{
	Init: func() any { return session.Digest{} },
	Step: func(state, input, output any) (bool, any) {
		head, in, out := state.(session.Digest), input.(call), output.(answer)
		switch {
		case !in.append:
			return out.head == head, head
		case out.ok:
			return in.expect == head, in.digest
		}
		return in.expect != head, head
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

func testRace(e *env) {
	race(e, 64, 4) // too many for the checker, whose cost is exponential in the number of clients
	if ops := race(e, 5, 12); porcupine.CheckOperationsTimeout(headModel, ops, 20*time.Second) != porcupine.Ok {
		e.Fatal("the history of heads is not linearizable")
	}
}

// race starts writers that append to one session. Each writer appends at the head that it sees. It
// checks that for each seq exactly one writer's append succeeds, and returns the history of calls.
func race(e *env, writers, rounds int) []porcupine.Operation {
	e.store = e.open(e)
	w := e.create("s")
	var (
		wg    sync.WaitGroup
		tick  atomic.Int64
		mu    sync.Mutex
		ops   []porcupine.Operation
		won   = map[int64]string{}
		start = make(chan struct{})
	)
	record := func(client int, in call, out answer, from int64) {
		mu.Lock()
		defer mu.Unlock()
		ops = append(ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: from, Return: tick.Add(1)})
	}
	ops = append(ops, porcupine.Operation{ClientId: writers, Input: call{append: true, digest: w.prev}, Output: answer{ok: true}, Call: tick.Add(1), Return: tick.Add(1)})
	for i := range writers {
		wg.Go(func() {
			<-start
			for n := range rounds {
				from := tick.Add(1)
				p, err := e.store.List(e.ctx(), session.Query{ID: "s"})
				if err != nil || len(p.Sessions) != 1 {
					e.Errorf("list: %v", err)
					return
				}
				m := p.Sessions[0]
				record(i, call{}, answer{head: m.HeadDigest}, from)
				mine := &writer{id: "s", seq: m.Head, prev: m.HeadDigest, now: epoch}
				r := mine.item(fmt.Sprintf("writer %d round %d", i, n))
				from = tick.Add(1)
				err = e.store.Append(e.ctx(), "s", batch(w.epoch, r))
				if err != nil && !errors.Is(err, session.ErrConflict) {
					e.Errorf("append: %v", err)
					return
				}
				record(i, call{append: true, expect: m.HeadDigest, digest: r.Digest}, answer{ok: err == nil}, from)
				if err == nil {
					mu.Lock()
					if other, twice := won[r.Seq]; twice {
						e.Errorf("seq %d was given to %q and %q", r.Seq, other, r.ID)
					}
					won[r.Seq] = string(r.Payload)
					mu.Unlock()
				}
			}
		})
	}
	close(start)
	wg.Wait()
	if e.Failed() {
		e.FailNow()
	}
	recs := e.read(e.store, "s", session.Range{After: 1})
	if len(recs) != len(won) {
		e.Fatalf("%d records are in the log, %d appends succeeded", len(recs), len(won))
	}
	for _, r := range recs {
		if won[r.Seq] != string(r.Payload) {
			e.Fatalf("record %d is not the one whose append succeeded", r.Seq)
		}
	}
	return ops
}
