package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Each of two processes notices at once when the other takes the lease.
func TestLeaseAcrossProcesses(t *testing.T) {
	dir := t.TempDir()
	one, two := openStore(t, dir), openStore(t, dir)
	a, l := begin(t, one, "s")
	add(t, one, a, l.Epoch, a.item("of one"))
	for i := range 4 {
		taker, loser := two, one
		if i%2 == 1 {
			taker, loser = one, two
		}
		m := take(t, taker, "s")
		if m.Epoch != l.Epoch+1 {
			t.Fatalf("epoch %d after %d", m.Epoch, l.Epoch)
		}
		r := a.item("whose?")
		if err := loser.Append(t.Context(), "s", batchOf(l.Epoch, r)); !errors.Is(err, session.ErrFenced) {
			t.Fatal(err)
		}
		if err := loser.Renew(t.Context(), "s", l); !errors.Is(err, session.ErrFenced) {
			t.Fatal(err)
		}
		add(t, taker, a, m.Epoch, r)
		l = m
	}
	if rs, faults := readAll(t, two, "s", session.Range{}); len(rs) != 6 || faults != nil {
		t.Fatalf("%d records, faults %v", len(rs), faults)
	}
}

func TestLeaseOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	_, l := begin(t, s, "s")
	l.Expires = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := s.Renew(t.Context(), "s", l); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = openStore(t, dir)
	_, err := s.Acquire(t.Context(), "s", session.Lease{}, func(cur session.Lease) bool {
		if cur.Epoch != l.Epoch || !cur.Expires.Equal(l.Expires) || cur.Holder.ID != "test" {
			t.Errorf("%+v", cur)
		}
		return false
	})
	busy, ok := errors.AsType[*session.BusyError](err)
	if !ok || !errors.Is(err, session.ErrBusy) || busy.Session != "s" {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), "s", l); err != nil {
		t.Fatal(err)
	}
	if m := take(t, s, "s"); m.Epoch != l.Epoch+1 {
		t.Fatalf("epoch %d after a release of %d", m.Epoch, l.Epoch)
	}
	s.Close()

	// A damaged lease is not taken for none: epochs would start again.
	name := filepath.Join(dir, "s", leaseName)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1
		if _, ok := decodeLease(bad); ok {
			t.Errorf("byte %d may be anything", i)
		}
	}
	if err := os.WriteFile(name, good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	if _, err := s.Acquire(t.Context(), "s", session.Lease{}, nil); !errors.Is(err, session.ErrCorrupt) || session.Hint(err) == "" {
		t.Fatal(err)
	}
}

// A lease may come before its session, which then does not exist yet.
func TestLeaseBeforeSession(t *testing.T) {
	s := openStore(t, t.TempDir())
	l := take(t, s, "s")
	if p, err := s.List(t.Context(), session.Query{}); err != nil || len(p.Sessions) != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := s.Recover(t.Context(), "s"); !errors.Is(err, session.ErrNotFound) {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "s"); !errors.Is(err, session.ErrNotFound) {
		t.Fatal(err)
	}
	a := &author{id: "s"}
	add(t, s, a, l.Epoch, a.opened(nil))
	add(t, s, a, l.Epoch, a.item("x"))
}

func FuzzLease(f *testing.F) {
	f.Add(leaseFile{Epoch: 3, Lease: &session.Lease{Epoch: 3}}.encode())
	f.Add(logSummary{End: 5}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, ok := decodeLease(b); ok {
			if again, ok := decodeLease(r.encode()); !ok || again.Epoch != r.Epoch {
				t.Fatalf("%+v, %+v", r, again)
			}
		}
		if m, ok := decodeSummary(b); ok {
			if again, ok := decodeSummary(m.encode()); !ok || again.End != m.End {
				t.Fatalf("%+v, %+v", m, again)
			}
		}
	})
}
