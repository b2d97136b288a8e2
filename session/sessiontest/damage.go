package sessiontest

import (
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/session"
)

// checkDamaged reads a session whose record bad is damaged. It checks that exactly this record is
// reported, in its place, and that all others are unchanged.
func (e *env) checkDamaged(s session.Store, w *writer, r session.Range, bad int64) {
	e.Helper()
	var want []session.Record
	for _, rec := range w.all {
		if rec.Seq > r.After && (r.Until == 0 || rec.Seq <= r.Until) {
			want = append(want, rec)
		}
	}
	if r.Reverse {
		slices.Reverse(want)
	}
	i := 0
	for rec, err := range s.Read(e.ctx(), w.id, r) {
		if i == len(want) {
			e.Fatalf("%+v yields more than %d records: %d, %v", r, len(want), rec.Seq, err)
		}
		exp := want[i]
		i++
		switch {
		case err == nil && exp.Seq == bad:
			err = rec.Check() // a store may leave this check to the reader
			fallthrough
		case err != nil:
			se, ok := errors.AsType[*session.Error](err)
			if !errors.Is(err, session.ErrCorrupt) || exp.Seq != bad || !ok || se.Seq != bad {
				e.Fatalf("%+v yields %v in place of record %d; the damaged record is %d", r, err, exp.Seq, bad)
			}
		default:
			same(e, "beside the damage", []session.Record{rec}, []session.Record{exp})
		}
	}
	if i < len(want) {
		e.Fatalf("%+v yields %d of %d records", r, i, len(want))
	}
}

// testCorrupt damages a record. The record must be reported in its place, and everything else must
// be readable as before. The last record of a log is not damaged, because it could be taken for a
// torn tail.
func testCorrupt(e *env) {
	if e.caps.Corrupt == nil {
		e.Skip("Caps.Corrupt is nil; set it if a test can damage the medium of the store")
	}
	for _, bad := range []int64{2, 7, 11} {
		e.store = e.open(e)
		w := e.create("s")
		for range 5 {
			e.append(w, w.item("x"))
		}
		e.append(w, w.items(6)...)
		other := e.create("other")
		e.append(other, other.items(11)...)
		e.caps.Corrupt(e, e.store, "s", bad)
		for _, s := range e.clients() {
			for _, r := range []session.Range{
				{},
				{Reverse: true},
				{After: bad - 1},
				{After: bad},
				{Until: bad},
				{After: bad - 2, Until: bad},
				{After: 3, Until: 9},
				{After: 3, Until: 9, Reverse: true},
			} {
				e.checkDamaged(s, w, r, bad)
			}
			same(e, "another session", e.read(s, "other", session.Range{}), other.all)
			if p, err := s.List(e.ctx(), session.Query{}); err != nil || len(p.Sessions) != 2 {
				e.Fatalf("a damaged record prevents the sessions from being listed: %v %v", ids(p), err)
			}
		}
		e.append(other, other.item("another session goes on"))
		more := w.clone()
		if err := e.store.Append(e.ctx(), "s", batch(w.epoch, more.item("behind the damage"))); err != nil {
			want(e, "append to a damaged log", err, session.ErrCorrupt)
			more = w
		}
		e.checkDamaged(e.store, more, session.Range{}, bad)
	}
}

// testTear leaves half of an append at the end of a log. No reader may see it, and the next append
// must follow the last complete one.
func testTear(e *env) {
	if e.caps.Tear == nil {
		e.Skip("Caps.Tear is nil; set it for a store that is not built on a database")
	}
	w := e.create("s")
	e.append(w, w.items(3)...)
	other := e.create("other")
	for round := range 3 {
		e.caps.Tear(e, e.store, "s")
		stores := e.clients()
		if round == 2 {
			slices.Reverse(stores) // the second client does the repair
		}
		for _, s := range stores {
			same(e, "behind a torn tail", e.read(s, "s", session.Range{}), w.all)
			same(e, "the last before it", e.read(s, "s", session.Range{Reverse: true, Limit: 1}), w.all[len(w.all)-1:])
			if m := e.meta(s, "s"); m.Head != w.seq || m.HeadDigest != w.prev {
				e.Fatalf("the meta counts a torn tail: %+v, want head %d", m, w.seq)
			}
		}
		if r, ok := session.As[session.Recoverer](stores[0]); ok && round == 0 {
			found, err := r.Recover(e.ctx(), "s")
			if err != nil || found == nil || found.Head != w.seq || found.Session != "s" {
				e.Fatalf("recovery: %+v %v, want one that ends at %d", found, err, w.seq)
			}
		}
		if err := stores[0].Append(e.ctx(), "s", batch(w.epoch, w.items(2)...)); err != nil {
			e.Fatalf("append behind a torn tail: %v", err)
		}
		e.append(other, other.item("x"))
		for _, s := range stores {
			same(e, "after mending", e.read(s, "s", session.Range{}), w.all)
			same(e, "another session", e.read(s, "other", session.Range{}), other.all)
		}
	}
}
