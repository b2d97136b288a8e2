package sessiontest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Bench reports the median times of operations other than appends: acquiring, renewing and
// releasing a lease, and listing the newest 50 of 300 sessions.
func Bench(b *testing.B, store session.Store) {
	ctx, leaser := b.Context(), store.(session.Leaser)
	sessions := session.New(store, nil)
	for i := range 300 {
		l, err := sessions.Create(ctx, session.Opened{SessionID: fmt.Sprintf("bench-%d", i), Project: "p"})
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
	times := map[string][]time.Duration{}
	measure := func(name string, f func() error) {
		begun := time.Now()
		if err := f(); err != nil {
			b.Fatal(name, err)
		}
		times[name] = append(times[name], time.Since(begun))
	}
	for b.Loop() {
		h := session.Lease{Holder: session.Holder{PID: 1}, Since: time.Now(), TTL: time.Minute}
		measure("take", func() (err error) { h, err = leaser.Acquire(ctx, "bench-7", h, nil); return err })
		measure("renew", func() error { return leaser.Renew(ctx, "bench-7", h) })
		measure("release", func() error { return leaser.Release(ctx, "bench-7", h) })
		measure("list", func() error { _, err := store.List(ctx, session.Query{Limit: 50}); return err })
	}
	for name, d := range times {
		slices.Sort(d)
		b.ReportMetric(float64(d[len(d)/2].Microseconds()), name+"-µs")
	}
}
