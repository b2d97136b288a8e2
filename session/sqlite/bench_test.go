//go:build linux

package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// Every benchmark measures its control in the same run, in turns, and reports
// the ratio: read ratios, not absolute times.

func percentile(d []time.Duration, p int) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[(len(d)-1)*p/100]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// One writer, one item at a time, against an append and fdatasync of the same
// bytes to a plain file on the same disk.
func BenchmarkAppendAlone(b *testing.B) {
	dir := b.TempDir()
	s := open(b, filepath.Join(dir, "sessions.db"))
	a := create(b, s, "a")
	f, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := append(slices.Clone(bigItem), '\n')
	var store, plain []time.Duration
	for b.Loop() {
		batch := a.batch(a.seal(session.KindItem, bigItem))
		t0 := time.Now()
		if err := s.Append(ctx, "a", batch); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
		store, plain = append(store, t1.Sub(t0)), append(plain, time.Since(t1))
	}
	b.ReportMetric(micros(percentile(store, 50)), "µs-p50")
	b.ReportMetric(micros(percentile(store, 99)), "µs-p99")
	b.ReportMetric(micros(percentile(plain, 50)), "µs-p50-plain")
	b.ReportMetric(micros(percentile(plain, 99)), "µs-p99-plain")
	b.ReportMetric(float64(percentile(store, 50))/float64(percentile(plain, 50)), "ratio-p50")
}

// 64 sessions with a writer each, against the same writers taking turns with
// one transaction per item in the same kind of file.
func BenchmarkAppendMany(b *testing.B) {
	const writers = 64
	rate := func(turn sync.Locker, n int) float64 {
		s := open(b, filepath.Join(b.TempDir(), "sessions.db"))
		defer s.Close()
		authors := make([]*author, writers)
		for i := range authors {
			authors[i] = create(b, s, fmt.Sprintf("session-%02d", i))
		}
		var wg sync.WaitGroup
		begin := time.Now()
		for _, a := range authors {
			wg.Go(func() {
				for range n {
					batch := a.batch(a.seal(session.KindItem, bigItem))
					turn.Lock()
					err := s.Append(ctx, a.id, batch)
					turn.Unlock()
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return float64(writers*n) / time.Since(begin).Seconds()
	}
	var grouped, single []float64
	for b.Loop() {
		grouped = append(grouped, rate(noLock{}, 400))
		single = append(single, rate(&sync.Mutex{}, 40))
	}
	slices.Sort(grouped)
	slices.Sort(single)
	g, o := grouped[len(grouped)/2], single[len(single)/2]
	b.ReportMetric(g, "items/s")
	b.ReportMetric(o, "items/s-single")
	b.ReportMetric(g/o, "ratio")
}

type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

// The 100,000th append against the 100th: two sessions in one file, one short
// and one long, appended to in turns.
func BenchmarkAppendLongLog(b *testing.B) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	s := open(b, filepath.Join(b.TempDir(), "sessions.db"))
	short, long := create(b, s, "short"), create(b, s, "long")
	fill(long, n)
	fill(short, 100)
	var at100, at100k []time.Duration
	for b.Loop() {
		for _, c := range []struct {
			a *author
			d *[]time.Duration
		}{{short, &at100}, {long, &at100k}} {
			batch := c.a.batch(c.a.seal(session.KindItem, bigItem))
			t := time.Now()
			if err := s.Append(ctx, c.a.id, batch); err != nil {
				b.Fatal(err)
			}
			*c.d = append(*c.d, time.Since(t))
		}
	}
	b.ReportMetric(micros(percentile(at100, 50)), "µs-p50-short")
	b.ReportMetric(micros(percentile(at100k, 50)), "µs-p50-long")
	b.ReportMetric(float64(percentile(at100k, 50))/float64(percentile(at100, 50)), "ratio-p50")
}

// The last 50 of a session of 1 GB (100 MB with -short), and a fork of it.
func BenchmarkTailAndFork(b *testing.B) {
	bytes := 1_000_000_000
	if testing.Short() {
		bytes = 100_000_000
	}
	path := filepath.Join(b.TempDir(), "sessions.db")
	s := open(b, path)
	a := create(b, s, "a")
	fill(a, bytes/len(bigItem))
	s.Close()
	t := time.Now()
	s = open(b, path)
	opened := time.Since(t)
	var tail, fork []time.Duration
	for i := 0; b.Loop(); i++ {
		t := time.Now()
		n := 0
		for _, err := range s.Read(ctx, "a", session.Range{Reverse: true, Limit: 50}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		tail = append(tail, time.Since(t))
		if n != 50 {
			b.Fatalf("%d records", n)
		}
		f := &author{t: b, store: s, id: fmt.Sprintf("fork-%d", i), head: a.head, last: a.last}
		batch := f.batch(f.seal(record.KindOpened, session.Opened{
			Format: 1, SessionID: f.id, Created: epoch0,
			Base: &session.Base{Parent: "a", Seq: a.head, Digest: a.last},
		}))
		t = time.Now()
		if err := s.Append(ctx, f.id, batch); err != nil {
			b.Fatal(err)
		}
		fork = append(fork, time.Since(t))
	}
	b.ReportMetric(micros(opened), "µs-open")
	b.ReportMetric(micros(tail[0]), "µs-first-tail")
	b.ReportMetric(micros(percentile(tail, 50)), "µs-tail")
	b.ReportMetric(micros(percentile(fork, 50)), "µs-fork")
}

// The newest 50 of 100,000 sessions.
func BenchmarkListNewest(b *testing.B) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	s := open(b, filepath.Join(b.TempDir(), "sessions.db"))
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for i := w; i < n; i += 64 {
				a := &author{t: b, store: s, id: fmt.Sprintf("0195b2a4-7c1e-7f00-8000-%012d", i)}
				r := a.seal(record.KindOpened, session.Opened{
					Format: 1, SessionID: a.id, Project: fmt.Sprintf("project-%d", i%1000),
					Created: epoch0, CWD: "/src/somewhere", Title: "a title of some length", Prompt: "please do this or that for me",
				})
				r.Time = epoch0.Add(time.Duration(i*7919%n) * time.Second)
				r.Seal(session.Digest{})
				a.add(r)
			}
		})
	}
	wg.Wait()
	lists := map[string]session.Query{
		"newest":  {Limit: 50},
		"project": {Limit: 50, Project: "project-7"},
	}
	times := map[string][]time.Duration{}
	for b.Loop() {
		for name, q := range lists {
			t := time.Now()
			p, err := s.List(ctx, q)
			if err != nil || len(p.Sessions) == 0 {
				b.Fatal(len(p.Sessions), err)
			}
			times[name] = append(times[name], time.Since(t))
		}
	}
	for name, d := range times {
		b.ReportMetric(micros(percentile(d, 50)), "µs-"+name)
	}
	b.ReportMetric(micros(times["newest"][0]), "µs-first-newest")
}

// cpuTime is what the process has used so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// All of a session of 10,000 items: as the store reads it, and as a resume
// reads and checks it. On a busy machine go by the processor's time.
func BenchmarkReadAll(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "sessions.db"))
	a := create(b, s, "a")
	fill(a, 9_999)
	s.Close()
	s = open(b, s.Path()) // the journal was written back
	for _, c := range []struct {
		name  string
		check bool
	}{{"read", false}, {"check", true}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var wall, cpu []time.Duration
			for b.Loop() {
				n, t, used := 0, time.Now(), cpuTime()
				for r, err := range s.Read(ctx, "a", session.Range{}) {
					if err == nil && c.check {
						err = r.Check()
					}
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				wall, cpu = append(wall, time.Since(t)), append(cpu, cpuTime()-used)
				if n != 10_000 {
					b.Fatal(n)
				}
			}
			b.ReportMetric(micros(percentile(wall, 50)), "µs")
			b.ReportMetric(micros(percentile(cpu, 50)), "µs-cpu")
		})
	}
}

// Making a file, opening an existing one, and its first append; against the
// sync of an empty file, since the disk is most of it.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "sessions.db")
	s := open(b, path)
	a := create(b, s, "a")
	s.Close()
	var makes, opens, firsts, closes, syncs []time.Duration
	for i := 0; b.Loop(); i++ {
		t := time.Now()
		lap := func(d *[]time.Duration) {
			now := time.Now()
			*d = append(*d, now.Sub(t))
			t = now
		}
		f, err := os.Create(filepath.Join(dir, "empty"))
		if err != nil {
			b.Fatal(err)
		}
		f.Sync()
		f.Close()
		lap(&syncs)
		made, err := sqlite.Open(filepath.Join(dir, fmt.Sprintf("new-%d", i)), nil)
		if err != nil {
			b.Fatal(err)
		}
		lap(&makes)
		made.Close()
		t = time.Now()
		s, err := sqlite.Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		lap(&opens)
		a.store = s
		a.items(1)
		lap(&firsts)
		s.Close()
		lap(&closes)
	}
	b.ReportMetric(micros(percentile(makes, 50)), "µs-create")
	b.ReportMetric(micros(percentile(opens, 50)), "µs-open")
	b.ReportMetric(micros(percentile(firsts, 50)), "µs-first-append")
	b.ReportMetric(micros(percentile(closes, 50)), "µs-close")
	b.ReportMetric(micros(percentile(syncs, 50)), "µs-sync")
}

func BenchmarkLeaseAndList(b *testing.B) { sessiontest.Bench(b, fresh(b)) }
