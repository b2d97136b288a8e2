package sessiontest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

func testOrder(e *env) {
	w := e.create("s")
	for range 20 {
		e.append(w, w.item("hello"))
	}
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
}

func testBatch(e *env) {
	w := e.create("s")
	e.append(w, w.items(3)...)
	e.append(w, w.item("x"), w.payload(record.KindTurnOpened, record.TurnOpened{Turn: "t"}), w.rename("title"))
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
	if m := e.meta(e.store, "s"); m.Head != 7 || m.MessageCount != 4 || m.Title != "title" {
		e.Fatalf("meta after batches: %+v", m)
	}
}

func testCAS(e *env) {
	w := e.create("s")
	e.append(w, w.items(2)...)
	late, early := w.clone(), w.clone()
	late.seq++ // as if there were one more record
	err := e.store.Append(e.ctx(), "s", batch(w.epoch, late.item("too late")))
	want(e, "append behind the head", err, session.ErrConflict)
	e.append(w, w.item("first"))
	err = e.store.Append(e.ctx(), "s", batch(w.epoch, early.item("second")))
	want(e, "append before the head", err, session.ErrConflict)
	if se, ok := errors.AsType[*session.Error](err); !ok || se.Seq != 4 {
		e.Fatalf("ErrConflict does not report head 4: %#v", err)
	}
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
}

func testRetry(e *env) {
	w := e.create("s")
	b := batch(w.epoch, w.items(3)...)
	for range 3 {
		if err := e.store.Append(e.ctx(), "s", b); err != nil {
			e.Fatalf("the same batch again: %v", err)
		}
	}
	e.append(w, w.item("later"))
	if err := e.store.Append(e.ctx(), "s", b); err != nil {
		e.Fatalf("the same batch after a later one: %v", err)
	}
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
	if m := e.meta(e.store, "s"); m.MessageCount != 4 || m.Head != 5 {
		e.Fatalf("a retry was counted: %+v", m)
	}
	// One of its records is stored and the other is not, so it is not a retry.
	half := w.clone()
	half.seq, half.prev = half.all[3].Seq, half.all[3].Digest
	err := e.store.Append(e.ctx(), "s", batch(w.epoch, w.all[3], half.item("other")))
	want(e, "half a retry", err, session.ErrConflict)
}

func testCreate(e *env) {
	w := e.create("s")
	again, r := opened("s", session.Opened{Title: "another"})
	err := e.store.Append(e.ctx(), "s", batch(0, r))
	want(e, "create again", err, session.ErrExists)
	_ = again
	if err := e.store.Append(e.ctx(), "s", batch(0, w.all[0])); err != nil {
		e.Fatalf("creating a session with the same record again must succeed as a retry: %v", err)
	}
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
}

func testMissing(e *env) {
	w, _ := opened("none", session.Opened{})
	err := e.store.Append(e.ctx(), "none", batch(0, w.rename("x")))
	want(e, "append to no session", err, session.ErrNotFound)
	for _, err := range e.store.Read(e.ctx(), "none", session.Range{}) {
		want(e, "read no session", err, session.ErrNotFound)
	}
	if n := len(e.readErrors("none")); n != 1 {
		e.Fatalf("reading no session yields %d errors, want 1", n)
	}
	if _, ok := e.find(e.store, "none"); ok {
		e.Fatal("a refused append left a session behind")
	}
}

func (e *env) readErrors(id string) (errs []error) {
	for _, err := range e.store.Read(e.ctx(), id, session.Range{}) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func testBigPayload(e *env) {
	size := e.caps.MaxPayload
	if size == 0 {
		size = 10 << 20
	}
	w := e.create("s")
	e.append(w, w.item(strings.Repeat("x", size-200)))
	e.append(w, w.item("after"))
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
	same(e, "tail", e.read(e.store, "s", session.Range{Reverse: true, Limit: 1}), w.all[2:])
}

func testLongLog(e *env) {
	n := e.few(100_000, 2_000)
	w := e.create("s")
	for range n / 500 {
		e.append(w, w.items(500)...)
	}
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
	mid := int64(n / 2)
	same(e, "middle", e.read(e.store, "s", session.Range{After: mid, Limit: 10}), w.all[mid:mid+10])
	tail := slices.Clone(w.all[len(w.all)-50:])
	slices.Reverse(tail)
	same(e, "tail", e.read(e.store, "s", session.Range{Reverse: true, Limit: 50}), tail)
	var pages []session.Record
	for after := int64(n - 995); ; after = pages[len(pages)-1].Seq {
		page := e.read(e.store, "s", session.Range{After: after, Limit: 100})
		if pages = append(pages, page...); len(page) < 100 {
			break
		}
	}
	same(e, "page by page", pages, w.all[n-995:])
}

func testExactBytes(e *env) {
	w := e.create("s")
	for _, p := range []string{
		`{"n":9007199254740993,"big":123456789012345678901234567890,"f":1.10}`,
		`{"b":1,"a":2,"b":3}`, // order, and even a repeated key
		`{"t":"\u0000 \ud83d\ude00 é \u2028 <&>"}`,
		`{ "spaced" : [ 1 , 2 ] }`,
		`{}`,
		`{"":"","null":null,"empty":[],"none":{},"false":false}`,
		`{"i":9223372036854775807,"o":9223372036854775808,"u":18446744073709551615,"m":-9007199254740993}`,
		`{"e":1e400,"E":1E+02,"z":-0,"z0":-0.0,"d":0.1e-7,"t":1.000000000000000000000000000001}`,
		`{"é":"é","e\u0301":"e\u0301","\u00e9":"\/ \b\f\n\r\t \" \\"}`,
		`{"lone":"\ud800","pair":"\ud83d\ude00","raw":"😀","del":"` + "\x7f" + `","sep":"` + "\u2028" + `"}`,
		`{"deep":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`,
		"{\"tab\":\t1}",
	} {
		e.append(w, w.next(record.KindWorkspaceEvent, []byte(p)))
	}
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
}

func testCancel(e *env) {
	w := e.create("s")
	done, cancel := context.WithCancel(e.ctx())
	cancel()
	first := w.clone()
	b := batch(w.epoch, first.items(5)...)
	if err := e.store.Append(done, "s", b); err != nil {
		if m := e.meta(e.store, "s"); m.Head != 1 && m.Head != 6 {
			e.Fatalf("half a batch: head %d", m.Head)
		}
	}
	if err := e.store.Append(e.ctx(), "s", b); err != nil {
		e.Fatalf("the first append was cancelled; appending the batch again: %v", err)
	}
	w = first
	for i := range 50 { // cancel at many different times
		next := w.clone()
		b := batch(w.epoch, next.items(1+i%7)...)
		ctx, cancel := context.WithCancel(e.ctx())
		var started sync.WaitGroup
		started.Add(1)
		go func() {
			started.Done()
			for range i * 50 {
				_ = ctx.Err()
			}
			cancel()
		}()
		started.Wait()
		err := e.store.Append(ctx, "s", b)
		cancel()
		head := e.meta(e.store, "s").Head
		switch {
		case err == nil && head != next.seq:
			e.Fatalf("append succeeded but the head is %d, want %d", head, next.seq)
		case head != next.seq && head != w.seq:
			e.Fatalf("cancelled append left head %d, want %d or %d", head, w.seq, next.seq)
		}
		if err := e.store.Append(e.ctx(), "s", b); err != nil {
			e.Fatalf("retry after %v: %v", err, err)
		}
		w = next
	}
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
}

func testSkew(e *env) {
	w := e.create("s")
	e.append(w, w.item("now"))
	w.now = w.now.Add(-48 * time.Hour)
	e.append(w, w.item("from a clock that is behind"))
	w.now = w.now.Add(1000 * time.Hour)
	e.append(w, w.item("and from one that is ahead"))
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
	if m := e.meta(e.store, "s"); m.Head != 4 || !m.UpdatedAt.Equal(w.now) {
		e.Fatalf("meta: %+v", m)
	}
}

func testAliasing(e *env) {
	w := e.create("s")
	r := w.item("kept as it was")
	payload := bytes.Clone(r.Payload)
	mine := r
	mine.Payload = bytes.Clone(r.Payload)
	title := "mine"
	b := batch(w.epoch, mine, w.rename("mine")) // the metadata depends only on the records
	b.Delta.Patch = &session.MetaPatch{Title: &title}
	if err := e.store.Append(e.ctx(), "s", b); err != nil {
		e.Fatal(err)
	}
	for i := range mine.Payload {
		mine.Payload[i] = 'X'
	}
	title = "changed later"
	b.Records[0] = session.Record{}
	got := e.read(e.store, "s", session.Range{After: 1})
	if string(got[0].Payload) != string(payload) {
		e.Fatalf("the store kept the caller's memory: %s", got[0].Payload)
	}
	if m := e.meta(e.store, "s"); m.Title != "mine" {
		e.Fatalf("the store kept the caller's title: %q", m.Title)
	}
	for i := range got[0].Payload {
		got[0].Payload[i] = 'Y'
	}
	if again := e.read(e.store, "s", session.Range{After: 1}); string(again[0].Payload) != string(payload) {
		e.Fatalf("the store handed out its own memory: %s", again[0].Payload)
	}
	// Records that were returned must not change when the store continues.
	held := e.read(e.store, "s", session.Range{})
	for range 50 {
		e.append(w, w.item(strings.Repeat("z", 300)))
	}
	same(e, "held", held, w.all[:3])
}

func testManySessions(e *env) {
	const sessions, appends = 16, 10
	writers := make([]*writer, sessions)
	for i := range writers {
		writers[i] = e.create(fmt.Sprintf("session-%d", i))
	}
	var wg sync.WaitGroup
	for _, w := range writers {
		wg.Go(func() {
			for range appends {
				if err := e.store.Append(e.ctx(), w.id, batch(w.epoch, w.item("x"), w.item("y"))); err != nil {
					e.Errorf("append to %s: %v", w.id, err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, w := range writers {
		same(e, w.id, e.read(e.store, w.id, session.Range{}), w.all)
	}
}
