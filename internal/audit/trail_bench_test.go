package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// BenchmarkAppend compares durable appends of a 1.5 KB item with and without a
// trail, in turns in one store, and reports the ratio of the medians.
func BenchmarkAppend(b *testing.B) {
	for _, name := range []string{"sqlite", "file"} {
		b.Run(name, func(b *testing.B) {
			st := tamperEnv{media[name], b.TempDir()}
			store := st.open(b, st.dir)
			defer closeStore(b, store)
			trail := openTrail(b, st.trailDir())
			ctx := context.Background()
			logs := map[session.AppendObserver]*session.Log{}
			for _, w := range []session.AppendObserver{nil, trail} {
				l, err := session.New(store, &session.Options{AppendObserver: w}).Create(ctx, session.Opened{})
				check(b, err)
				defer l.Close()
				logs[w] = l
			}
			times := map[session.AppendObserver][]time.Duration{}
			draft := noteDraft("x", strings.Repeat("x", 1500))
			for i := 0; b.Loop(); i++ {
				for _, w := range [][]session.AppendObserver{{nil, trail}, {trail, nil}}[i%2] {
					start := time.Now()
					if _, err := logs[w].Append(ctx, draft); err != nil {
						b.Fatal(err)
					}
					times[w] = append(times[w], time.Since(start))
				}
			}
			with, without := median(times[trail]), median(times[nil])
			b.ReportMetric(with, "µs-with")
			b.ReportMetric(without, "µs-without")
			b.ReportMetric(with/without, "ratio")
		})
	}
}

// BenchmarkLeaf is the trail's part of an append alone.
func BenchmarkLeaf(b *testing.B) {
	trail := openTrail(b, b.TempDir()+"/trail")
	r := head(1)
	var times []time.Duration
	for b.Loop() {
		r.Seq++
		start := time.Now()
		if err := trail.Appended(b.Context(), "s", r); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	b.ReportMetric(median(times), "µs-p50")
}

// median is in microseconds.
func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1000
}

// BenchmarkOpenTrail opens a trail of 10,000 leaves for one append, as a command
// does, without and with a checkpoint.
func BenchmarkOpenTrail(b *testing.B) {
	dir := b.TempDir() + "/trail"
	trail := openTrail(b, dir)
	for i := range int64(10_000) {
		addLeaves(b, trail, "s", i+1)
	}
	check(b, trail.Close())
	b.Run("only", func(b *testing.B) {
		for b.Loop() {
			trail, err := OpenTrail(dir, nil)
			check(b, err)
			check(b, trail.Close())
		}
	})
	b.Run("append-and-sign", func(b *testing.B) {
		for i := int64(0); b.Loop(); i++ {
			trail, err := OpenTrail(dir, nil)
			check(b, err)
			addLeaves(b, trail, "t", i+1)
			check(b, trail.Close())
		}
	})
}

// BenchmarkVerify verifies a store of 100,000 records of 1.4 KB in 100 sessions.
func BenchmarkVerify(b *testing.B) {
	for _, name := range []string{"sqlite", "file"} {
		b.Run(name, func(b *testing.B) {
			st := tamperEnv{media[name], b.TempDir()}
			store := st.open(b, st.dir)
			defer closeStore(b, store)
			trail := openTrail(b, st.trailDir())
			s := session.New(store, &session.Options{AppendObserver: trail})
			ctx := context.Background()
			draft := noteDraft("x", strings.Repeat("words ", 230))
			drafts := slices.Repeat([]session.Draft{draft}, 111)
			for i := range 100 {
				l, err := s.Create(ctx, session.Opened{SessionID: fmt.Sprint("s", i)})
				check(b, err)
				for range 9 {
					_, err := l.Append(ctx, drafts...)
					check(b, err)
				}
				check(b, l.Close())
			}
			check(b, trail.Close())
			b.ReportAllocs()
			for b.Loop() {
				r, err := Verify(ctx, s, st.trailDir(), nil)
				if err != nil || len(r.Findings) > 0 || r.Records != 100_000 {
					b.Fatalf("%v %+v", err, r)
				}
			}
		})
	}
}
