package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// BenchmarkAppend compares the durable append of a 1.5 KB item with a bare
// append and fdatasync of the same bytes, taking turns on the same disk.
func BenchmarkAppend(b *testing.B) {
	dir := b.TempDir()
	s := openStore(b, filepath.Join(dir, "store"))
	a, l := begin(b, s, "s")
	bare, err := os.Create(filepath.Join(dir, "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	var ours, theirs []time.Duration
	off := int64(0)
	for b.Loop() {
		r := a.items(1, 1500)
		batch := batchOf(l.Epoch, r...)
		line := appendLine(nil, &r[0], 0)
		a.all = a.all[:0]
		start := time.Now()
		if err := s.Append(b.Context(), "s", batch); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(start))
		start = time.Now()
		_, err := bare.WriteAt(line, off)
		if err := errors.Join(err, fdatasync(bare)); err != nil {
			b.Fatal(err)
		}
		theirs = append(theirs, time.Since(start))
		off += int64(len(line))
	}
	report(b, ours, theirs)
}

// BenchmarkAppendLate compares appends to a session of 100,000 items with
// appends to a new one.
func BenchmarkAppendLate(b *testing.B) {
	s := openStore(b, b.TempDir())
	old, l := begin(b, s, "old")
	fill(b, s, old, l.Epoch, 100_000, 1400)
	young, m := begin(b, s, "young")
	add(b, s, young, m.Epoch, young.items(100, 1400)...)
	var late, early []time.Duration
	one := func(a *author, epoch int64) time.Duration {
		batch := batchOf(epoch, a.items(1, 1500)...)
		a.all = a.all[:0]
		start := time.Now()
		if err := s.Append(b.Context(), a.id, batch); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	for b.Loop() {
		late = append(late, one(old, l.Epoch))
		early = append(early, one(young, m.Epoch))
	}
	report(b, late, early)
}

func report(b *testing.B, ours, theirs []time.Duration) {
	slices.Sort(ours)
	slices.Sort(theirs)
	p50, control := ours[len(ours)/2], theirs[len(theirs)/2]
	b.ReportMetric(float64(p50.Microseconds()), "p50-µs")
	b.ReportMetric(float64(ours[len(ours)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(control.Microseconds()), "control-p50-µs")
	b.ReportMetric(float64(p50)/float64(control), "ratio")
}

func fill(b testing.TB, s *Store, a *author, epoch int64, n, size int) {
	b.Helper()
	for n > 0 {
		k := min(n, 2000)
		add(b, s, a, epoch, a.items(k, size)...)
		a.all = a.all[:0]
		n -= k
	}
}

// BenchmarkResume reads 10,000 records of 1.4 KB.
func BenchmarkResume(b *testing.B) {
	s := openStore(b, b.TempDir())
	a, l := begin(b, s, "s")
	fill(b, s, a, l.Epoch, 10_000, 1400)
	for b.Loop() {
		n := 0
		for _, err := range s.Read(b.Context(), "s", session.Range{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 10_001 {
			b.Fatal(n)
		}
	}
}

// BenchmarkBig works on a log of 1 GB, which HOLDFAST_BENCH_RECORDS=700000
// makes; the default is a tenth of that.
func BenchmarkBig(b *testing.B) {
	n := 70_000
	if v := os.Getenv("HOLDFAST_BENCH_RECORDS"); v != "" {
		if _, err := fmt.Sscan(v, &n); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	s := openStore(b, dir)
	a, l := begin(b, s, "s")
	fill(b, s, a, l.Epoch, n, 1400)
	b.Run("tail50", func(b *testing.B) {
		for b.Loop() {
			k := 0
			for _, err := range s.Read(b.Context(), "s", session.Range{Reverse: true, Limit: 50}) {
				if err != nil {
					b.Fatal(err)
				}
				k++
			}
			if k != 50 {
				b.Fatal(k)
			}
		}
	})
	b.Run("after-the-middle", func(b *testing.B) {
		for b.Loop() {
			for r, err := range s.Read(b.Context(), "s", session.Range{After: int64(n / 2), Limit: 50}) {
				if err != nil || r.Seq <= int64(n/2) {
					b.Fatal(r.Seq, err)
				}
			}
		}
	})
	b.Run("fork", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			f := &author{id: fmt.Sprintf("fork-%d", i)}
			add(b, s, f, 0, f.opened(&session.Base{Parent: "s", Seq: a.seq, Digest: a.prev}))
		}
	})
	if err := s.Release(b.Context(), "s", l); err != nil {
		b.Fatal(err)
	}
	b.Run("open-for-writing", func(b *testing.B) {
		for b.Loop() {
			s := openStore(b, dir)
			if _, err := s.Recover(b.Context(), "s"); err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("open-for-writing-unchecked", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			now := time.Now()
			if err := os.Chtimes(filepath.Join(dir, "s", logName), now, now); err != nil {
				b.Fatal(err)
			}
			s := openStore(b, dir)
			b.StartTimer()
			if _, err := s.Recover(b.Context(), "s"); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			s.Close()
			b.StartTimer()
		}
	})
}

// BenchmarkList lists the newest 50 of 10,000 sessions.
func BenchmarkList(b *testing.B) {
	const sessions = 10_000
	dir := b.TempDir()
	s := openStore(b, dir)
	for i := range sessions {
		a := &author{id: fmt.Sprintf("session-%05d", i)}
		add(b, s, a, 0, append([]session.Record{a.opened(nil)}, a.items(3, 500)...)...)
	}
	list := func(b *testing.B, s *Store) {
		p, err := s.List(b.Context(), session.Query{Limit: 50})
		if err != nil || len(p.Sessions) != 50 {
			b.Fatal(len(p.Sessions), err)
		}
	}
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			list(b, s)
		}
	})
	s.Close()
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			s := openStore(b, dir)
			list(b, s)
			s.Close()
		}
	})
	b.Run("create", func(b *testing.B) {
		s := openStore(b, dir)
		for i := 0; b.Loop(); i++ {
			a := &author{id: fmt.Sprintf("new-%05d", i)}
			add(b, s, a, 0, a.opened(nil))
		}
	})
}
