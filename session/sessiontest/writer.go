package sessiontest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// writer makes the records of one session in order.
type writer struct {
	id    string
	epoch int64 // epoch of the lease; 0 without a lease
	seq   int64
	prev  session.Digest
	now   time.Time
	all   []session.Record // everything made so far
}

// next seals a record that follows the last one.
func (w *writer) next(kind session.Kind, payload []byte) session.Record {
	w.seq++
	w.now = w.now.Add(time.Second)
	r := session.Record{Seq: w.seq, ID: fmt.Sprintf("%s#%d", w.id, w.seq), Time: w.now, Kind: kind, Payload: payload}
	r.Seal(w.prev)
	w.prev = r.Digest
	w.all = append(w.all, r)
	return r
}

func (w *writer) payload(kind session.Kind, v any) session.Record {
	d, err := session.NewDraft(kind, v)
	if err != nil {
		panic(err)
	}
	return w.next(kind, d.Payload)
}

func (w *writer) item(text string) session.Record {
	it := transcript.UserText(text)
	it.ID = fmt.Sprintf("item-%d", w.seq+1)
	return w.next(session.KindItem, session.ItemDraft(it.MustEncode(), false, nil).Payload)
}

func (w *writer) put(it transcript.Item) session.Record {
	it.ID = fmt.Sprintf("item-%d", w.seq+1)
	return w.next(session.KindItem, session.ItemDraft(it.MustEncode(), false, nil).Payload)
}

func (w *writer) items(n int) []session.Record {
	recs := make([]session.Record, n)
	for i := range recs {
		recs[i] = w.item(fmt.Sprintf("text %d", i))
	}
	return recs
}

func (w *writer) rename(title string) session.Record {
	return w.payload(record.KindMetaChanged, session.MetaPatch{Title: &title})
}

// clone returns a second writer that continues after the same record.
func (w *writer) clone() *writer {
	c := *w
	c.all = append([]session.Record(nil), w.all...)
	return &c
}

func batch(epoch int64, recs ...session.Record) session.Batch {
	d, err := session.Fold(recs)
	if err != nil {
		panic(err)
	}
	return session.Batch{Expect: recs[0].Seq - 1, Epoch: epoch, Records: recs, Delta: d}
}

// append appends records of w. It ends the subtest if the append fails.
func (e *env) append(w *writer, recs ...session.Record) {
	e.Helper()
	if err := e.store.Append(e.ctx(), w.id, batch(w.epoch, recs...)); err != nil {
		e.Fatalf("append to %q at %d: %v", w.id, recs[0].Seq, err)
	}
}

// opened returns a writer for a new session, and its first record.
func opened(id string, o session.Opened) (*writer, session.Record) {
	w := &writer{id: id, now: epoch}
	o.Format, o.SessionID, o.Created = record.FormatVersion, id, epoch
	if o.Base != nil {
		w.seq, w.prev = o.Base.Seq, o.Base.Digest
	}
	return w, w.payload(record.KindOpened, o)
}

// create starts a session in the store and takes its lease.
func (e *env) create(id string) *writer {
	e.Helper()
	return e.createAs(id, session.Opened{})
}

func (e *env) createAs(id string, o session.Opened) *writer {
	e.Helper()
	w, r := opened(id, o)
	e.append(w, r)
	w.epoch = e.acquire(e.store, id)
	return w
}

// acquire acquires the lease of id, or returns 0 if the store has no leases.
func (e *env) acquire(s session.Store, id string) int64 {
	e.Helper()
	l, ok := session.As[session.Leaser](s)
	if !ok {
		return 0
	}
	got, err := l.Acquire(e.ctx(), id, lease("writer"), func(session.Lease) bool { return true })
	if err != nil {
		e.Fatalf("acquire %q: %v", id, err)
	}
	return got.Epoch
}

func lease(holder string) session.Lease {
	return session.Lease{Holder: session.Holder{ID: holder, Host: "host", PID: 1, Command: "test"}, Since: epoch, Expires: epoch.Add(time.Minute)}
}

// read returns the records of a range of a session.
func (e *env) read(s session.Store, id string, r session.Range) []session.Record {
	e.Helper()
	var recs []session.Record
	for rec, err := range s.Read(e.ctx(), id, r) {
		if err != nil {
			e.Fatalf("read %q %+v: %v", id, r, err)
		}
		recs = append(recs, rec)
	}
	return recs
}

// meta returns the meta of a session.
func (e *env) meta(s session.Store, id string) session.Meta {
	e.Helper()
	m, ok := e.find(s, id)
	if !ok {
		e.Fatalf("session %q is not in the store", id)
	}
	return m
}

func (e *env) find(s session.Store, id string) (session.Meta, bool) {
	e.Helper()
	p, err := s.List(e.ctx(), session.Query{ID: id})
	if err != nil {
		e.Fatalf("list %q: %v", id, err)
	}
	if len(p.Sessions) > 1 {
		e.Fatalf("%d sessions have the id %q", len(p.Sessions), id)
	}
	if len(p.Sessions) == 0 {
		return session.Meta{}, false
	}
	return p.Sessions[0], true
}

// same fails the test if the two lists do not have the same records, byte for byte and in the same
// order.
func same(t testing.TB, what string, got, want []session.Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Seq != w.Seq || g.ID != w.ID || !g.Time.Equal(w.Time) || g.Kind != w.Kind || string(g.Payload) != string(w.Payload) ||
			g.Prev != w.Prev || g.Body != w.Body || g.Digest != w.Digest {
			t.Fatalf("%s: record %d differs:\n got %s\nwant %s", what, i, show(g), show(w))
		}
		if err := g.Check(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func show(r session.Record) string {
	if len(r.Payload) > 200 {
		r.Payload = r.Payload[:200]
	}
	b, _ := json.Marshal(map[string]any{"seq": r.Seq, "id": r.ID, "time": r.Time, "kind": r.Kind, "payload": string(r.Payload), "digest": r.Digest})
	return string(b)
}

// sameMeta compares all fields that are computed from the records.
func sameMeta(t testing.TB, got, want session.Meta) {
	t.Helper()
	if !got.CreatedAt.Equal(want.CreatedAt) || !got.UpdatedAt.Equal(want.UpdatedAt) {
		t.Fatalf("times differ: got %v %v, want %v %v", got.CreatedAt, got.UpdatedAt, want.CreatedAt, want.UpdatedAt)
	}
	got.CreatedAt, got.UpdatedAt = want.CreatedAt, want.UpdatedAt
	if got != want {
		t.Fatalf("meta differs:\n got %+v\nwant %+v", got, want)
	}
}

// want fails the test if err does not wrap target.
func want(t testing.TB, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("%s: got error %v, want %v", what, err, target)
	}
}
