package redis_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Every benchmark measures its control in the same run, in turns, and reports the
// ratio: read ratios, not absolute times. They want a server that syncs each append.

func percentile(d []time.Duration, p int) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[(len(d)-1)*p/100]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// bigItem is the payload of an item of 1.5 KB.
var bigItem = json.RawMessage(`{"item":{"id":"i","role":"user","parts":[{"type":"text","text":"` + strings.Repeat("lorem ipsum ", 120) + `"}]}}`)

// One writer, one item at a time, against a bare RPUSH and a bare XADD of the same bytes
// through the same client.
func BenchmarkAppendAlone(b *testing.B) {
	s := fresh(b)
	a := create(b, s, session.Opened{SessionID: "a"})
	c, key := raw(b, s.url), base(b, s.url)
	var store, push, add []time.Duration
	for b.Loop() {
		batch := a.batch(a.seal(session.KindItem, bigItem))
		t0 := time.Now()
		if err := s.Append(ctx, "a", batch); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		if err := c.do("RPUSH", key+"bare", []byte(bigItem)); err != nil {
			b.Fatal(err)
		}
		t2 := time.Now()
		if err := c.do("XADD", key+"bare stream", "*", "r", []byte(bigItem)); err != nil {
			b.Fatal(err)
		}
		store, push, add = append(store, t1.Sub(t0)), append(push, t2.Sub(t1)), append(add, time.Since(t2))
	}
	b.ReportMetric(micros(percentile(store, 50)), "µs-p50")
	b.ReportMetric(micros(percentile(store, 99)), "µs-p99")
	b.ReportMetric(micros(percentile(push, 50)), "µs-p50-rpush")
	b.ReportMetric(micros(percentile(add, 50)), "µs-p50-xadd")
	b.ReportMetric(float64(percentile(store, 50))/float64(percentile(push, 50)), "ratio-rpush")
	b.ReportMetric(float64(percentile(store, 50))/float64(percentile(add, 50)), "ratio-xadd")
}

// 64 writers at once, each in a session of its own, against as many that push bare.
func BenchmarkAppendMany(b *testing.B) {
	const writers, each = 64, 50
	s := fresh(b)
	c, key := raw(b, s.url), base(b, s.url)
	authors := make([]*author, writers)
	for i := range authors {
		authors[i] = create(b, s, session.Opened{SessionID: fmt.Sprint("s", i)})
	}
	rate := func(f func(i int) error) float64 {
		var wg sync.WaitGroup
		begun := time.Now()
		for i := range writers {
			wg.Go(func() {
				for range each {
					if err := f(i); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return writers * each / time.Since(begun).Seconds()
	}
	var store, bare []float64
	for b.Loop() {
		store = append(store, rate(func(i int) error {
			a := authors[i]
			return s.Append(ctx, a.id, a.batch(a.seal(session.KindItem, bigItem)))
		}))
		bare = append(bare, rate(func(i int) error {
			return c.do("RPUSH", fmt.Sprint(key, "bare", i), []byte(bigItem))
		}))
	}
	slices.Sort(store)
	slices.Sort(bare)
	b.ReportMetric(store[len(store)/2], "items/s")
	b.ReportMetric(bare[len(bare)/2], "items/s-rpush")
	b.ReportMetric(bare[len(bare)/2]/store[len(store)/2], "ratio")
}

// The last 50 of a long session, all of it, and a fork; with what a record costs.
func BenchmarkLongSession(b *testing.B) {
	n := 50_000
	if testing.Short() {
		n = 5_000
	}
	s := fresh(b)
	a := create(b, s, session.Opened{SessionID: "a"})
	for range n / 100 {
		records := make([]session.Record, 100)
		for i := range records {
			records[i] = a.seal(session.KindItem, bigItem)
		}
		a.add(records...)
	}
	usage, err := raw(b, s.url).Do(ctx, "MEMORY", "USAGE", base(b, s.url)+"records:a", "SAMPLES", 0)
	used, _ := usage.(int64)
	if err != nil {
		b.Fatal(err)
	}
	read := func(r session.Range) time.Duration {
		begun := time.Now()
		for _, err := range s.Read(ctx, "a", r) {
			if err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(begun)
	}
	var tail, all, fork []time.Duration
	for i := 0; b.Loop(); i++ {
		tail = append(tail, read(session.Range{Reverse: true, Limit: 50}))
		if i < 3 {
			all = append(all, read(session.Range{}))
		}
		f := &author{t: b, store: s, id: fmt.Sprint("fork-", i), head: a.head, last: a.last}
		batch := f.batch(f.seal(record.KindOpened, session.Opened{
			Format: 1, SessionID: f.id, Created: begin, Base: &session.Base{Parent: "a", Seq: a.head, Digest: a.last},
		}))
		begun := time.Now()
		if err := s.Append(ctx, f.id, batch); err != nil {
			b.Fatal(err)
		}
		fork = append(fork, time.Since(begun))
	}
	b.ReportMetric(micros(percentile(tail, 50)), "µs-tail")
	b.ReportMetric(micros(percentile(fork, 50)), "µs-fork")
	b.ReportMetric(float64(n*len(bigItem))/1e6/percentile(all, 50).Seconds(), "MB/s-all")
	b.ReportMetric(float64(used)/float64(n)-float64(len(bigItem)), "B/record-beside-payload")
}

// The newest 50 of 100,000 sessions, of a project with 100 of them, and of one with half.
func BenchmarkListNewest(b *testing.B) {
	n := 100_000
	if testing.Short() {
		n = 5_000
	}
	s := fresh(b)
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for i := w; i < n; i += 64 {
				a := &author{t: b, store: s, id: fmt.Sprintf("0195b2a4-7c1e-7f00-8000-%012d", i)}
				o := session.Opened{Format: 1, SessionID: a.id, Created: begin, CWD: "/src", Prompt: "please do this or that for me", Project: "big"}
				if i%2 == 0 {
					o.Project = fmt.Sprint("project-", i%1000)
				}
				r := a.seal(record.KindOpened, o)
				r.Time = begin.Add(time.Duration(i*7919%n) * time.Second)
				r.Seal(session.Digest{})
				a.add(r)
			}
		})
	}
	wg.Wait()
	times := map[string][]time.Duration{}
	for b.Loop() {
		for name, q := range map[string]session.Query{"newest": {Limit: 50}, "few": {Limit: 50, Project: "project-8"}, "half": {Limit: 50, Project: "big"}} {
			begun := time.Now()
			p, err := s.List(ctx, q)
			if err != nil || len(p.Sessions) == 0 {
				b.Fatal(len(p.Sessions), err)
			}
			times[name] = append(times[name], time.Since(begun))
		}
	}
	for name, d := range times {
		b.ReportMetric(micros(percentile(d, 50)), "µs-"+name)
	}
}
