package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

// item1500 makes an item's record of about 1.5 KB.
var item1500 = strings.Repeat("0123456789abcde ", 88)

const bareTable = "CREATE TABLE bare (num bigint, seq bigint, id bytea, time_ms bigint, kind text, chain bytea, payload bytea, PRIMARY KEY (num, seq))"

// insert is the engine's own: one INSERT of the same bytes, through the same driver.
func insert(b *testing.B, c *pgx.Conn, num int64, r session.Record) {
	if _, err := c.Exec(ctx, "INSERT INTO bare VALUES ($7, $1, $2, $3, $4, $5, $6)",
		r.Seq, []byte(r.ID), r.Time.UnixMilli(), string(r.Kind), make([]byte, 96), []byte(r.Payload), num); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAppend takes turns with the engine's own, so that both see the same disk, and
// tells the ratio of the two, by the median of each.
func BenchmarkAppend(b *testing.B) {
	at := target(b)
	a := create(b, open(b, at), "s")
	script(b, at, bareTable)
	c := dial(b, at)
	defer c.Close(ctx)
	bare := &author{id: "s"}
	var ours, theirs []time.Duration
	for b.Loop() {
		begun := time.Now()
		insert(b, c, 1, bare.item(item1500))
		between := time.Now()
		if err := a.append(a.item(item1500)); err != nil {
			b.Fatal(err)
		}
		ours, theirs = append(ours, time.Since(between)), append(theirs, between.Sub(begun))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	half := len(ours) / 2
	b.ReportMetric(float64(ours[half].Microseconds()), "append-µs")
	b.ReportMetric(float64(theirs[half].Microseconds()), "insert-µs")
	b.ReportMetric(float64(ours[half])/float64(theirs[half]), "ratio")
}

// BenchmarkAppendWatched has another store that listens.
func BenchmarkAppendWatched(b *testing.B) {
	at := target(b)
	a := create(b, open(b, at), "s")
	other := open(b, at)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer other.Close()
	wg.Go(func() {
		for _, err := range other.Watch(ctx, "s", 0) {
			if err != nil {
				return
			}
		}
	})
	for b.Loop() {
		if err := a.append(a.item(item1500)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendMany has 16 sessions that are appended to at once; it is one append.
func BenchmarkAppendMany(b *testing.B) {
	s := open(b, with(b, target(b), "pool_max_conns", "16"))
	authors := make(chan *author, 16)
	for i := range cap(authors) {
		authors <- create(b, s, fmt.Sprintf("s%d", i))
	}
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		a := <-authors
		for pb.Next() {
			if err := a.append(a.item(item1500)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkInsertMany is the engine's own at 16 connections.
func BenchmarkInsertMany(b *testing.B) {
	at := target(b)
	open(b, at)
	script(b, at, bareTable)
	authors := make(chan int64, 16)
	for i := range cap(authors) {
		authors <- int64(i)
	}
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		c := dial(b, at)
		defer c.Close(ctx)
		num := <-authors
		a := &author{id: "s"}
		for pb.Next() {
			insert(b, c, num, a.item(item1500))
		}
	})
}

// fill puts n records of 16 KiB behind a session's head, behind the store's back.
func fill(b *testing.B, at string, n int) {
	b.Helper()
	c := dial(b, at)
	defer c.Close(ctx)
	payload := []byte(strings.Repeat(item1500, 12))
	_, err := c.CopyFrom(ctx, pgx.Identifier{"records"}, []string{"num", "seq", "id", "time_ms", "kind", "chain", "payload"},
		pgx.CopyFromSlice(n, func(i int) ([]any, error) {
			return []any{int64(1), int64(i + 2), []byte("x"), int64(0), "item", make([]byte, 96), payload}, nil
		}))
	if err == nil {
		_, err = c.Exec(ctx, "UPDATE sessions SET head = $1", n+1)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTail reads the last 50 records of a session of 1 GB, and tells the median.
func BenchmarkTail(b *testing.B) {
	at := target(b)
	s := open(b, at)
	create(b, s, "s")
	fill(b, at, 1<<30/(len(item1500)*12))
	var took []time.Duration
	for b.Loop() {
		begun, n := time.Now(), 0
		for _, err := range s.Read(ctx, "s", session.Range{Reverse: true, Limit: 50}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 50 {
			b.Fatal(n)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(took[0].Microseconds()), "least-µs")
}

func BenchmarkLeaseAndList(b *testing.B) { sessiontest.Bench(b, open(b, target(b))) }
