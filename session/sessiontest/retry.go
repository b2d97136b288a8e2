package sessiontest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-dev/holdfast/session"
)

// testRetriesAtOnce sends one batch many times at once, as a client does after losing its
// connection. Every call must succeed, and the batch must be stored once.
func testRetriesAtOnce(e *env) {
	clients := e.clients()
	w := e.create("s")
	for round := range e.few(8, 3) {
		b := batch(w.epoch, w.items(3)...)
		if round == 0 { // the batch that creates a session too
			n, r := opened("new", session.Opened{})
			b = batch(0, append([]session.Record{r}, n.items(2)...)...)
			e.runConcurrently(12, func(i int) error { return clients[i%len(clients)].Append(e.ctx(), "new", b) })
			same(e, "new", e.read(e.store, "new", session.Range{}), n.all)
			b = batch(w.epoch, w.all[1:]...)
		}
		e.runConcurrently(12, func(i int) error { return clients[i%len(clients)].Append(e.ctx(), "s", b) })
		for _, s := range clients {
			same(e, "read", e.read(s, "s", session.Range{}), w.all)
			if m := e.meta(s, "s"); m.Head != w.seq || m.MessageCount != len(w.all)-1 {
				e.Fatalf("round %d: a retry was counted: %+v", round, m)
			}
		}
	}
}

// runConcurrently runs n concurrent calls of f; all must succeed.
func (e *env) runConcurrently(n int, f func(i int) error) {
	e.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		e.Fatal(err)
	}
}

// testRetryAfterTakeover repeats a batch whose answer was lost, after another client took the
// session over. The batch is stored, so the retry must succeed.
func testRetryAfterTakeover(e *env) {
	e.leaser()
	w := e.create("s")
	b := batch(w.epoch, w.items(2)...)
	if err := e.store.Append(e.ctx(), "s", b); err != nil {
		e.Fatal(err)
	}
	old := w.epoch
	w.epoch = e.acquire(e.store, "s")
	for range 2 {
		for i, s := range e.clients() {
			if err := s.Append(e.ctx(), "s", b); err != nil {
				e.Fatalf("client %d: retry of a stored batch by the former holder: %v", i, err)
			}
		}
		e.append(w, w.item("the new holder goes on"))
	}
	stale := w.clone()
	err := e.store.Append(e.ctx(), "s", batch(old, stale.item("too late")))
	want(e, "append of a new batch by the former holder", err, session.ErrFenced)
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
}

func testEmptyBatch(e *env) {
	w := e.create("s")
	before := e.meta(e.store, "s")
	for id, expect := range map[string]int64{"s": 1, "none": 0} {
		err := e.store.Append(e.ctx(), id, session.Batch{Expect: expect, Epoch: w.epoch})
		want(e, "a batch without records", err, session.ErrInvalid)
	}
	sameMeta(e, e.meta(e.store, "s"), before)
	same(e, "read", e.read(e.store, "s", session.Range{}), w.all)
	if _, ok := e.find(e.store, "none"); ok {
		e.Fatal("a batch without records made a session")
	}
}

// testAppendErased appends records that were already erased in another store, as it happens when a
// session is copied. They have digests but no payload.
func testAppendErased(e *env) {
	w := e.create("s")
	recs := erased(w.items(5), 3, 5)
	w.all = erased(w.all, 3, 5)
	e.append(w, recs...)
	e.append(w, w.item("and on"))
	got := e.read(e.store, "s", session.Range{})
	same(e, "read", got, w.all)
	for i, r := range got {
		if (r.Payload == nil) != (w.all[i].Payload == nil) {
			e.Fatalf("the payload of record %d is %q", r.Seq, r.Payload)
		}
	}
	if err := e.store.Append(e.ctx(), "s", batch(w.epoch, recs...)); err != nil {
		e.Fatalf("a retry of erased records: %v", err)
	}
}

// testReadWhole reads while batches are appended. A read must never return a part of a batch, and
// the head in a meta must never be after the last record that can be read.
func testReadWhole(e *env) {
	const size = 5
	clients := e.clients()
	w := e.create("s")
	rounds := e.few(60, 12)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for range rounds {
			if err := e.store.Append(e.ctx(), "s", batch(w.epoch, w.items(size)...)); err != nil {
				e.Errorf("append: %v", err)
				return
			}
		}
	})
	defer wg.Wait()
	for i := 0; ; i++ {
		s := clients[i%len(clients)]
		m := e.meta(s, "s")
		var last int64
		for r, err := range s.Read(e.ctx(), "s", session.Range{}) {
			if err != nil {
				e.Fatal(err)
			}
			last = r.Seq
		}
		if (last-1)%size != 0 || (m.Head-1)%size != 0 {
			e.Fatalf("half a batch: the log ends at %d, its meta says %d", last, m.Head)
		}
		if last < m.Head || m.MessageCount != int(m.Head)-1 {
			e.Fatalf("the meta says %d with %d messages, the log read after it ends at %d", m.Head, m.MessageCount, last)
		}
		for r, err := range s.Read(e.ctx(), "s", session.Range{Reverse: true, Limit: 1}) {
			if err != nil || (r.Seq-1)%size != 0 {
				e.Fatalf("half a batch from behind: %d %v", r.Seq, err)
			}
		}
		select {
		case <-done:
			if last > int64(rounds*size) {
				return
			}
		default:
		}
	}
}

// testMetaText stores texts in a meta that databases and formats often handle wrongly.
func testMetaText(e *env) {
	for i, text := range []string{
		"nul \x00 in the middle", "\x00", "naïve 日本 🙂 \u2028", "\ufffd", "a\u0301", "'; DROP TABLE sessions; --", `\x00 \u0000 \`, "  spaces  ", "tab\tand\nline",
		"null", "", "%s %d", "{{.}}", "$1 ?", "\r\n", "\x7f\x1b[31m", string(make([]byte, 300)), long("x", 64<<10), long("日", 5000),
	} {
		id := fmt.Sprint("s", i)
		w := e.createAs(id, session.Opened{Title: text, Summary: text, Tag: text, CWD: text, Project: text, GitBranch: text, Model: text})
		e.append(w, w.item("x"), w.rename("another"))
		e.append(w, w.rename(text), w.item(text))
		var folded session.Meta
		for _, r := range w.all {
			d, err := session.Fold([]session.Record{r})
			if err != nil {
				e.Fatal(err)
			}
			folded = folded.Apply(d)
		}
		for _, s := range e.clients() {
			sameMeta(e, e.meta(s, id), folded)
		}
		same(e, id, e.read(e.store, id, session.Range{}), w.all)
	}
	prompts := e.create("prompts")
	e.append(prompts, prompts.item("a prompt with \x00 in it"))
	if got := e.meta(e.store, "prompts").FirstPrompt; got != "a prompt with \x00 in it" {
		e.Fatalf("the first prompt is %q", got)
	}
}

func long(s string, n int) string {
	b := make([]byte, 0, n*len(s))
	for range n {
		b = append(b, s...)
	}
	return string(b)
}
