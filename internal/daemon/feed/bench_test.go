package feed

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// BenchmarkFanOut measures the time until the last of 1,000 subscribers has the frames of an
// appended event, from before the append and from its end.
func BenchmarkFanOut(b *testing.B) {
	for _, c := range []struct {
		name string
		open func(testing.TB) session.Store
	}{
		{"memory", func(testing.TB) session.Store { return memory.New() }},
		{"sqlite", openSQLite},
	} {
		for _, records := range []int{1, 3} {
			b.Run(c.name+"/"+map[int]string{1: "one", 3: "batch"}[records], func(b *testing.B) { fanOut(b, c.open(b), records) })
		}
	}
}

func openSQLite(t testing.TB) session.Store {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "sessions.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func fanOut(b *testing.B, store session.Store, records int) {
	const subscribers = 1000
	h := openOn(b, store, nil)
	ctx, cancel := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	var have sync.WaitGroup
	for range subscribers {
		s := h.subscribe(FromEnd)
		h.expect(s, "caught_up@1")
		readers.Go(func() {
			for seen := 0; ; {
				e, err := s.Next(ctx)
				if err != nil {
					return
				}
				_ = e.Frames(&plainText)
				if seen++; seen%records == 0 {
					have.Done()
				}
			}
		})
	}
	drafts := make([]session.Draft, records)
	for i := range drafts {
		drafts[i] = item(200)
	}
	var took []time.Duration
	for b.Loop() {
		have.Add(subscribers)
		h.add(h.log, drafts...)
		began := time.Now()
		have.Wait()
		took = append(took, time.Since(began))
	}
	cancel()
	readers.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkIdle measures 1,000 idle subscriptions of one session and of a thousand sessions.
func BenchmarkIdle(b *testing.B) {
	for _, c := range []struct {
		name     string
		sessions int
	}{{"one session", 1}, {"1000 sessions", 1000}} {
		b.Run(c.name, func(b *testing.B) {
			h := open(b, nil)
			var ids []string
			for i := range c.sessions {
				ids = append(ids, h.create(string(rune('a'+i%26))+h.sessions.NewID()).ID())
			}
			for b.Loop() {
				before := inUse()
				goroutines := runtime.NumGoroutine()
				var subs []*Subscription
				for i := range 1000 {
					s, err := h.hub.Subscribe(b.Context(), ids[i%len(ids)], FromEnd)
					if err != nil {
						b.Fatal(err)
					}
					subs = append(subs, s)
				}
				b.ReportMetric(float64(inUse()-before)/1000, "B/subscription")
				b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
				for _, s := range subs {
					s.Close()
				}
			}
		})
	}
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
