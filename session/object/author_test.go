package object_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// author makes the records of one session, one after the other.
type author struct {
	id    string
	epoch int64
	head  int64
	last  session.Digest
}

func (a *author) next(kind session.Kind, v any) session.Record {
	d, err := session.NewDraft(kind, v)
	if err != nil {
		panic(err)
	}
	a.head++
	r := session.Record{
		Seq: a.head, ID: fmt.Sprintf("%s#%d", a.id, a.head), Kind: kind, Payload: d.Payload,
		Time: time.Date(2026, 1, 2, 3, 4, int(a.head), 0, time.UTC),
	}
	r.Seal(a.last)
	a.last = r.Digest
	return r
}

func (a *author) opened(base *session.Base) session.Record {
	if base != nil {
		a.head, a.last = base.Seq, base.Digest
	}
	return a.next(record.KindOpened, session.Opened{
		Format: record.FormatVersion, SessionID: a.id, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Base: base,
	})
}

func (a *author) turn(words string) session.Record {
	return a.next(record.KindTurnOpened, record.TurnOpened{Turn: words})
}

func (a *author) batch(records ...session.Record) session.Batch {
	d, err := session.Fold(records)
	if err != nil {
		panic(err)
	}
	return session.Batch{Expect: records[0].Seq - 1, Epoch: a.epoch, Records: records, Delta: d}
}

func lease(holder string) session.Lease {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return session.Lease{Holder: session.Holder{ID: holder}, Since: now, Expires: now.Add(time.Minute)}
}

func always(session.Lease) bool { return true }

// begin makes a session with a lease and some turns.
func begin(t testing.TB, s session.Store, id string, turns int) *author {
	t.Helper()
	a := &author{id: id}
	if err := s.Append(ctx, id, a.batch(a.opened(nil))); err != nil {
		t.Fatal(err)
	}
	a.take(t, s)
	for i := range turns {
		a.append(t, s, fmt.Sprintf("turn %d", i))
	}
	return a
}

func (a *author) take(t testing.TB, s session.Store) {
	t.Helper()
	l, err := s.(session.Leaser).Acquire(ctx, a.id, lease("author"), always)
	if err != nil {
		t.Fatal(err)
	}
	a.epoch = l.Epoch
}

func (a *author) append(t testing.TB, s session.Store, words string) {
	t.Helper()
	if err := s.Append(ctx, a.id, a.batch(a.turn(words))); err != nil {
		t.Fatal(err)
	}
}

// chain reads a session and fails unless its records are one unbroken chain from a seq on.
func chain(t testing.TB, s session.Store, id string, from int64) []session.Record {
	t.Helper()
	var all []session.Record
	for r, err := range s.Read(ctx, id, session.Range{}) {
		if err != nil {
			t.Fatalf("read %s: %v", id, err)
		}
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		if want := from + int64(len(all)); r.Seq != want {
			t.Fatalf("record %d of %s comes where %d should be", r.Seq, id, want)
		}
		if n := len(all); n > 0 && r.Prev != all[n-1].Digest {
			t.Fatalf("record %d of %s does not follow the one before", r.Seq, id)
		}
		all = append(all, r)
	}
	return all
}

func find(t testing.TB, s session.Store, id string) *session.Meta {
	t.Helper()
	p, err := s.List(ctx, session.Query{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sessions) == 0 {
		return nil
	}
	return &p.Sessions[0]
}
