package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

var ctx = context.Background()

// epoch0 is when the made-up logs begin.
var epoch0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// fresh opens a new store.
func fresh(t testing.TB) *sqlite.Store {
	t.Helper()
	return open(t, filepath.Join(memoryDir(t), "sessions.db"))
}

// memoryDir returns a temporary folder, in memory where there is such a thing:
// most tests do not ask about the medium, and need not wait for it.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "holdfast-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// author writes a log the way [session.Log] does.
type author struct {
	t     testing.TB
	store *sqlite.Store
	id    string
	epoch int64
	head  int64
	last  session.Digest
	n     int
}

func (a *author) seal(kind session.Kind, payload any) session.Record {
	raw, ok := payload.(json.RawMessage)
	if !ok {
		b, err := json.Marshal(payload)
		if err != nil {
			a.t.Fatal(err)
		}
		raw = b
	}
	a.n++
	r := session.Record{
		Seq: a.head + 1, ID: fmt.Sprintf("%s-%d-%d", a.id, a.head+1, a.n), Kind: kind, Payload: raw,
		Time: epoch0.Add(time.Duration(a.head) * time.Second),
	}
	r.Seal(a.last)
	a.head, a.last = r.Seq, r.Digest
	return r
}

func (a *author) batch(records ...session.Record) session.Batch {
	d, err := session.Fold(records)
	if err != nil {
		a.t.Fatal(err)
	}
	return session.Batch{Expect: records[0].Seq - 1, Epoch: a.epoch, Records: records, Delta: d}
}

func (a *author) add(records ...session.Record) {
	a.t.Helper()
	if err := a.store.Append(ctx, a.id, a.batch(records...)); err != nil {
		a.t.Fatal(err)
	}
}

// create opens a new session and takes its lease.
func create(t testing.TB, s *sqlite.Store, id string) *author {
	t.Helper()
	a := &author{t: t, store: s, id: id}
	a.add(a.seal(record.KindOpened, session.Opened{Format: 1, SessionID: id, Created: epoch0, Project: "p", CWD: "/src"}))
	a.lease()
	return a
}

func (a *author) lease() {
	a.t.Helper()
	l, err := a.store.Acquire(ctx, a.id, session.Lease{Expires: epoch0.Add(time.Minute)}, func(session.Lease) bool { return true })
	if err != nil {
		a.t.Fatal(err)
	}
	a.epoch = l.Epoch
}

// fork opens a session based on a's record seq.
func (a *author) fork(id string, seq int64) *author {
	a.t.Helper()
	f := &author{t: a.t, store: a.store, id: id, head: seq, last: a.digest(seq)}
	f.add(f.seal(record.KindOpened, session.Opened{
		Format: 1, SessionID: id, Created: epoch0,
		Base: &session.Base{Parent: a.id, Seq: seq, Digest: f.last},
	}))
	f.lease()
	return f
}

func (a *author) digest(seq int64) session.Digest {
	for r, err := range a.store.Read(ctx, a.id, session.Range{After: seq - 1, Until: seq}) {
		if err != nil {
			a.t.Fatal(err)
		}
		return r.Digest
	}
	a.t.Fatalf("%s has no record %d", a.id, seq)
	return session.Digest{}
}

func item(text string) json.RawMessage {
	b, _ := json.Marshal(text)
	return json.RawMessage(`{"item":{"id":"i","role":"user","parts":[{"type":"text","text":` + string(b) + `}]}}`)
}

// bigItem is an item record of about 1.5 KB.
var bigItem = item(strings.Repeat("All work and no play. ", 62))

func (a *author) items(n int) {
	a.t.Helper()
	for range n {
		a.add(a.seal(session.KindItem, bigItem))
	}
}

func seqs(t testing.TB, s session.Store, id string, r session.Range) []int64 {
	t.Helper()
	out := []int64{}
	for rec, err := range s.Read(ctx, id, r) {
		if err != nil {
			t.Fatal(err)
		}
		if err := rec.Check(); err != nil {
			t.Fatal(err)
		}
		out = append(out, rec.Seq)
	}
	return out
}

func meta(t testing.TB, s session.Store, id string) session.Meta {
	t.Helper()
	p, err := s.List(ctx, session.Query{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sessions) != 1 {
		t.Fatalf("%d sessions with id %q", len(p.Sessions), id)
	}
	return p.Sessions[0]
}
