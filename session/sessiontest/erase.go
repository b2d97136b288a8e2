package sessiontest

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// erased returns the expected records after some of them were erased.
func erased(recs []session.Record, seqs ...int64) []session.Record {
	recs = slices.Clone(recs)
	for i := range recs {
		if slices.Contains(seqs, recs[i].Seq) {
			recs[i].Payload = nil
		}
	}
	return recs
}

func testErase(e *env) {
	er := e.eraser()
	w := e.create("s")
	e.append(w, w.items(400)...)
	other := e.create("other")
	e.append(other, other.items(5)...)
	before := e.meta(e.store, "s")
	seqs := []int64{2, 3, 250, 401}
	for range 2 { // erasing again changes nothing
		if err := er.Erase(e.ctx(), "s", w.epoch, seqs); err != nil {
			e.Fatal(err)
		}
		want := erased(w.all, seqs...)
		same(e, "after erasing", e.read(e.store, "s", session.Range{}), want)
		for i, r := range e.read(e.store, "s", session.Range{}) {
			if (r.Payload == nil) != (want[i].Payload == nil) {
				e.Fatalf("the payload of record %d is %q", r.Seq, r.Payload)
			}
		}
		same(e, "a middle part", e.read(e.store, "s", session.Range{After: 248, Limit: 4}), want[248:252])
	}
	same(e, "another session", e.read(e.store, "other", session.Range{}), other.all)
	after := e.meta(e.store, "s")
	after.Size = before.Size // the size may or may not change
	sameMeta(e, after, before)
	e.append(w, w.item("goes on"))
	same(e, "going on", e.read(e.store, "s", session.Range{}), erased(w.all, seqs...))
	if err := er.Erase(e.ctx(), "s", w.epoch, []int64{w.seq}); err != nil {
		e.Fatal(err)
	}
	e.append(w, w.item("and on"))
	// A batch whose payload was erased meanwhile still counts as a retry.
	if err := e.store.Append(e.ctx(), "s", batch(w.epoch, w.all[len(w.all)-2])); err != nil {
		e.Fatalf("a retry of a batch that was erased: %v", err)
	}
}

func testEraseFenced(e *env) {
	er := e.eraser()
	e.leaser()
	w := e.create("s")
	e.append(w, w.items(3)...)
	for _, epoch := range []int64{0, w.epoch + 1} {
		want(e, "erase with another epoch", er.Erase(e.ctx(), "s", epoch, []int64{2}), session.ErrFenced)
	}
	e.acquire(e.store, "s")
	want(e, "erase by the former holder", er.Erase(e.ctx(), "s", w.epoch, []int64{2}), session.ErrFenced)
	same(e, "after refusals", e.read(e.store, "s", session.Range{}), w.all)
}

func testEraseMissing(e *env) {
	er := e.eraser()
	want(e, "erase of no session", er.Erase(e.ctx(), "none", 1, []int64{1}), session.ErrNotFound)
	w := e.create("s")
	e.append(w, w.items(3)...)
	for _, seq := range []int64{-1, 0, 5, 1 << 40} {
		want(e, "erase of no record", er.Erase(e.ctx(), "s", w.epoch, []int64{2, seq}), session.ErrInvalid)
	}
	same(e, "after refusals", e.read(e.store, "s", session.Range{}), w.all)
	if err := er.Erase(e.ctx(), "s", w.epoch, nil); err != nil {
		e.Fatalf("erasing nothing: %v", err)
	}
}

func testEraseFork(e *env) {
	er := e.eraser()
	w := e.create("s")
	e.append(w, w.items(5)...)
	base := w.all[3]
	f := e.createAs("fork", session.Opened{Base: &session.Base{Parent: "s", Seq: base.Seq, Digest: base.Digest}})
	e.append(f, f.items(3)...)
	if err := er.Erase(e.ctx(), "s", w.epoch, []int64{3}); err != nil {
		e.Fatal(err)
	}
	want(e, "erase a record of the parent through the fork", er.Erase(e.ctx(), "fork", f.epoch, []int64{3}), session.ErrInvalid)
	if err := er.Erase(e.ctx(), "fork", f.epoch, []int64{f.seq}); err != nil {
		e.Fatal(err)
	}
	same(e, "parent", e.read(e.store, "s", session.Range{}), erased(w.all, 3))
	same(e, "fork", e.read(e.store, "fork", session.Range{}), erased(f.all, f.seq))
	if d, ok := session.As[session.Deleter](e.store); ok {
		if err := d.Delete(e.ctx(), "s"); err != nil {
			e.Fatal(err)
		}
		same(e, "deleted parent", e.read(e.store, "s", session.Range{Until: base.Seq}), erased(w.all[:base.Seq], 3))
		// The payloads that its forks show can still be erased. No process writes to it, so there
		// is no lease.
		if err := er.Erase(e.ctx(), "s", 0, []int64{2}); err != nil {
			e.Fatalf("erase in a deleted parent: %v", err)
		}
		same(e, "deleted parent, erased since", e.read(e.store, "s", session.Range{Until: base.Seq}), erased(w.all[:base.Seq], 2, 3))
		want(e, "erase of a record that the deleted parent no longer has", er.Erase(e.ctx(), "s", 0, []int64{w.seq + 7}), session.ErrInvalid)
		if e.caps.Reopen != nil {
			same(e, "opened again", e.read(e.caps.Reopen(e, e.store), "s", session.Range{Until: base.Seq}), erased(w.all[:base.Seq], 2, 3))
		}
		if err := d.Delete(e.ctx(), "fork"); err != nil {
			e.Fatal(err)
		}
		want(e, "erase in a session that was removed with its last fork", er.Erase(e.ctx(), "s", 0, []int64{2}), session.ErrNotFound)
	}
}

func testEraseSecondClient(e *env) {
	er := e.eraser()
	if e.caps.Reopen == nil {
		e.Skip("Caps.Reopen is nil; a store with a second client sets it")
	}
	w := e.create("s")
	e.append(w, w.items(5)...)
	other := e.caps.Reopen(e, e.store)
	// The second client has the session open: it has appended to it.
	if err := other.Append(e.ctx(), "s", batch(w.epoch, w.item("from the second"))); err != nil {
		e.Fatal(err)
	}
	for _, seq := range []int64{3, 6} {
		if err := er.Erase(e.ctx(), "s", w.epoch, []int64{seq}); err != nil {
			e.Fatal(err)
		}
		if err := other.Append(e.ctx(), "s", batch(w.epoch, w.item("the second goes on"))); err != nil {
			e.Fatal(err)
		}
		e.append(w, w.item("the first, too"))
	}
	for _, s := range []session.Store{e.store, other} {
		same(e, "both", e.read(s, "s", session.Range{}), erased(w.all, 3, 6))
		if m := e.meta(s, "s"); m.Head != w.seq {
			e.Fatalf("the head is %d, want %d", m.Head, w.seq)
		}
	}
}

func testErasePrompt(e *env) {
	w := e.create("s")
	e.append(w, w.item("a prompt to be forgotten"), w.rename("a title"))
	title := ""
	patch, err := session.NewDraft(record.KindMetaChanged, session.MetaPatch{Title: &title})
	if err != nil {
		e.Fatalf("%v", err)
	}
	e.append(w, w.payload(record.KindRedacted, record.Redacted{
		Seqs: []int64{2}, Listed: &record.Listed{Messages: 7, Prompt: "[erased]", Patch: patch.Payload},
	}))
	e.append(w, w.item("another prompt"))
	if m := e.meta(e.store, "s"); m.FirstPrompt != "[erased]" || m.MessageCount != 8 || m.Title != "" {
		e.Fatalf("meta after a redaction: %+v", m)
	}
	e.append(w, w.payload(record.KindRedacted, record.Redacted{Seqs: []int64{2}, Listed: &record.Listed{Messages: 1}}), w.item("the first again"))
	if m := e.meta(e.store, "s"); m.FirstPrompt != "the first again" || m.MessageCount != 2 {
		e.Fatalf("meta after an empty first prompt: %+v", m)
	}
	if e.caps.Reopen != nil {
		sameMeta(e, e.meta(e.caps.Reopen(e, e.store), "s"), e.meta(e.store, "s"))
	}
}
