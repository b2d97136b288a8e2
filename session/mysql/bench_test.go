package mysql_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

// The two are to be compared: an item of 1.5 KB that is acknowledged durable, and the
// same bytes in a bare insert through the same driver.
//
//	go test -run - -bench 'Append|Insert' -benchtime 2000x -count 5 ./session/mysql
func BenchmarkAppend(b *testing.B) {
	s := open(b, database(b), nil)
	l := create(b, s, "s")
	defer l.Close()
	for b.Loop() {
		if _, err := l.Append(b.Context(), note(1)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInsert(b *testing.B) {
	db := rawOf(b, database(b))
	db.SetMaxOpenConns(1)
	run(b, db, "CREATE TABLE bare (n BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, payload LONGBLOB) ENGINE=InnoDB")
	insert, err := db.Prepare("INSERT INTO bare (payload) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	payload := []byte(note(1).Payload)
	for b.Loop() {
		if _, err := insert.Exec(payload); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRatio takes turns between the two, so that what else the machine does
// weighs on both alike.
func BenchmarkRatio(b *testing.B) {
	s := open(b, database(b), nil)
	l := create(b, s, "s")
	defer l.Close()
	db := rawOf(b, database(b))
	db.SetMaxOpenConns(1)
	run(b, db, "CREATE TABLE bare (n BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, payload LONGBLOB) ENGINE=InnoDB")
	insert, err := db.Prepare("INSERT INTO bare (payload) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	payload := []byte(note(1).Payload)
	var ours, bare time.Duration
	for b.Loop() {
		begin := time.Now()
		if _, err := l.Append(b.Context(), note(1)); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if _, err := insert.Exec(payload); err != nil {
			b.Fatal(err)
		}
		ours += middle.Sub(begin)
		bare += time.Since(middle)
	}
	b.ReportMetric(float64(ours)/float64(bare), "ratio")
	b.ReportMetric(float64(bare.Microseconds())/float64(b.N), "bare-µs/op")
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "append-µs/op")
}

// BenchmarkAppend16 is of 16 sessions that are written at once.
func BenchmarkAppend16(b *testing.B) {
	s := open(b, database(b), nil)
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	var logs []*session.Log
	for i := range 16 {
		logs = append(logs, create(b, s, string(rune('a'+i))))
	}
	b.ResetTimer()
	for _, l := range logs {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := l.Append(b.Context(), note(1)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	for _, l := range logs {
		l.Close()
	}
}

// BenchmarkTail is of the last 50 of 20,000 records.
func BenchmarkTail(b *testing.B) {
	s := open(b, database(b), nil)
	l := create(b, s, "s")
	defer l.Close()
	for range 100 {
		drafts := make([]session.Draft, 200)
		for i := range drafts {
			drafts[i] = note(i)
		}
		if _, err := l.Append(b.Context(), drafts...); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		n := 0
		for _, err := range s.Read(b.Context(), "s", session.Range{Reverse: true, Limit: 50}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 50 {
			b.Fatal(n)
		}
	}
}

func BenchmarkLeaseAndList(b *testing.B) { sessiontest.Bench(b, open(b, database(b), nil)) }
