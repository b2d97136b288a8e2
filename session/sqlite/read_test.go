package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// Ranges that span several chunks, both ways.
func TestReadInChunks(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	fill(a, 999)
	for _, r := range []session.Range{
		{}, {Reverse: true}, {Limit: 256}, {Limit: 257}, {After: 100, Until: 900}, {After: 100, Until: 900, Reverse: true, Limit: 600}, {After: 744},
	} {
		var want []int64
		for i := int64(1); i <= 1000; i++ {
			if i > r.After && (r.Until == 0 || i <= r.Until) {
				want = append(want, i)
			}
		}
		if r.Reverse {
			slices.Reverse(want)
		}
		if r.Limit > 0 {
			want = want[:min(len(want), r.Limit)]
		}
		if got := seqs(t, s, "a", r); !slices.Equal(got, want) {
			t.Errorf("%+v: %d records, want %d", r, len(got), len(want))
		}
	}
}

// The body of a loop over records may use the store in any way.
func TestReadNested(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	a.items(20)
	n := 0
	for range s.Read(ctx, "a", session.Range{}) {
		for range s.Read(ctx, "a", session.Range{}) {
			for range s.Read(ctx, "a", session.Range{Limit: 2}) {
				n++
			}
		}
		a.items(1)
	}
	if n < 20*20*2 {
		t.Error(n)
	}
}

func TestReadCancelledBetweenChunks(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	fill(a, 999)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := 0
	for _, err := range s.Read(ctx, "a", session.Range{}) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		n++
		cancel()
	}
	if n == 0 || n == 1000 {
		t.Errorf("%d records after a cancellation at the first", n)
	}
}

// readAll returns what was read, and the seqs of what could not be.
func readAll(t *testing.T, s session.Store, r session.Range) (good, bad []int64) {
	t.Helper()
	for rec, err := range s.Read(ctx, "a", r) {
		if err == nil {
			err = rec.Check()
			rec.Seq = max(rec.Seq, 1)
		}
		if err == nil {
			good = append(good, rec.Seq)
			continue
		}
		e, ok := errors.AsType[*session.Error](err)
		if !ok || !errors.Is(err, session.ErrCorrupt) || e.Seq == 0 {
			t.Fatalf("%v", err)
		}
		bad = append(bad, e.Seq)
	}
	return good, bad
}

func TestReadContinuesAfterDamagedRecord(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	a.items(9)
	for seq, sql := range map[int64]string{
		3: "UPDATE records SET payload = CAST(payload || ' ' AS BLOB) WHERE key & 4294967295 = 3",
		5: "UPDATE records SET chain = x'00' WHERE key & 4294967295 = 5",
		7: "UPDATE records SET chain = zeroblob(96) WHERE key & 4294967295 = 7",
		8: "UPDATE records SET payload = NULL, kind = 'x' WHERE key & 4294967295 = 8",
	} {
		if raw(t, s.Path(), sql+" RETURNING key") == "" {
			t.Fatal(seq)
		}
	}
	for _, reverse := range []bool{false, true} {
		good, bad := readAll(t, s, session.Range{Reverse: reverse})
		slices.Sort(good)
		slices.Sort(bad)
		if !slices.Equal(good, []int64{1, 2, 4, 6, 9, 10}) || !slices.Equal(bad, []int64{3, 5, 7, 8}) {
			t.Errorf("reverse %v: good %v, bad %v", reverse, good, bad)
		}
	}
}

// A page that was overwritten costs its own records only.
func TestReadContinuesAfterDamagedPages(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	fill(a, 400)
	path := s.Path()
	leaf := raw(t, path, "SELECT pageno FROM dbstat WHERE name = 'records' AND pagetype = 'leaf' ORDER BY pageno LIMIT 1 OFFSET 60")
	s.Close()
	var page int64
	fmt.Sscan(leaf, &page)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	garbage := make([]byte, 4096)
	for i := range garbage {
		garbage[i] = byte(i*7 + 3)
	}
	if _, err := f.WriteAt(garbage, (page-1)*4096); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s = open(t, path)
	for _, reverse := range []bool{false, true} {
		good, bad := readAll(t, s, session.Range{Reverse: reverse})
		if len(good)+len(bad) != 401 || len(bad) == 0 || len(bad) > 6 {
			t.Errorf("reverse %v: %d good, bad are %v", reverse, len(good), bad)
		}
	}
}

// A writer goes on while readers are in the middle of their loops, and the
// journal does not wait for them.
func TestSlowReaderDoesNotHoldTheJournal(t *testing.T) {
	s := fresh(t)
	a := create(t, s, "a")
	fill(a, 600)
	for range s.Read(ctx, "a", session.Range{}) {
		for range 20 {
			fill(a, 500)
		}
		break
	}
	info, err := os.Stat(s.Path() + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 8<<20 {
		t.Errorf("the journal has %d bytes", info.Size())
	}
}
