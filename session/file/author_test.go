package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

var day = time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)

// author makes the records of one session.
type author struct {
	id   string
	seq  int64
	prev session.Digest
	all  []session.Record
}

func (a *author) record(k session.Kind, payload []byte) session.Record {
	a.seq++
	r := session.Record{Seq: a.seq, ID: fmt.Sprintf("r-%d", a.seq), Time: day.Add(time.Duration(a.seq) * time.Second), Kind: k, Payload: payload}
	r.Seal(a.prev)
	a.prev = r.Digest
	a.all = append(a.all, r)
	return r
}

func (a *author) opened(base *session.Base) session.Record {
	if base != nil {
		a.seq, a.prev = base.Seq, base.Digest
	}
	b, _ := json.Marshal(session.Opened{Format: record.FormatVersion, SessionID: a.id, Created: day, Base: base})
	return a.record(record.KindOpened, b)
}

func (a *author) item(text string) session.Record {
	it := transcript.UserText(text)
	it.ID = fmt.Sprintf("item-%d", a.seq+1)
	return a.record(session.KindItem, session.ItemDraft(it.MustEncode(), false, nil).Payload)
}

// items makes n items of about size bytes.
func (a *author) items(n, size int) []session.Record {
	text := strings.Repeat("x", max(size-120, 1))
	rs := make([]session.Record, n)
	for i := range rs {
		rs[i] = a.item(text)
	}
	return rs
}

func (a *author) rename(title string) session.Record {
	b, _ := json.Marshal(session.MetaPatch{Title: &title})
	return a.record(record.KindMetaChanged, b)
}

func batchOf(epoch int64, rs ...session.Record) session.Batch {
	d, err := session.Fold(rs)
	if err != nil {
		panic(err)
	}
	return session.Batch{Expect: rs[0].Seq - 1, Epoch: epoch, Records: rs, Delta: d}
}

// begin creates a session and takes its lease.
func begin(t testing.TB, s *Store, id string) (*author, session.Lease) {
	t.Helper()
	a := &author{id: id}
	if err := s.Append(t.Context(), id, batchOf(0, a.opened(nil))); err != nil {
		t.Fatal(err)
	}
	return a, take(t, s, id)
}

func take(t testing.TB, s *Store, id string) session.Lease {
	t.Helper()
	l, err := s.Acquire(t.Context(), id, session.Lease{Holder: session.Holder{ID: "test"}}, func(session.Lease) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func add(t testing.TB, s *Store, a *author, epoch int64, rs ...session.Record) {
	t.Helper()
	if err := s.Append(t.Context(), a.id, batchOf(epoch, rs...)); err != nil {
		t.Fatal(err)
	}
}

// readAll returns what can be read, and the seqs that cannot.
func readAll(t testing.TB, s *Store, id string, r session.Range) (rs []session.Record, faults []int64) {
	t.Helper()
	for rec, err := range s.Read(t.Context(), id, r) {
		if err != nil {
			faults = append(faults, seqOf(t, err))
			continue
		}
		rs = append(rs, rec)
	}
	return rs, faults
}

// seqOf returns the seq of a corrupt record's error.
func seqOf(t testing.TB, err error) int64 {
	t.Helper()
	e, ok := errors.AsType[*session.Error](err)
	if !ok || !errors.Is(err, session.ErrCorrupt) {
		t.Fatalf("want an ErrCorrupt, got %v", err)
	}
	return e.Seq
}

// fastDir is a directory in memory where there is such a thing: for tests in
// which syncing must happen but need not be waited for.
func fastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "holdfast-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
