package daemon

import (
	"testing"
	"time"
)

func TestBucket(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := bucket{rate: 50, burst: 200}
	taken := 0
	for b.take(1, start) {
		taken++
	}
	if taken != 200 {
		t.Errorf("%d at once, want 200", taken)
	}
	for i, tt := range []struct {
		after time.Duration
		n     float64
		want  bool
	}{
		{19 * time.Millisecond, 1, false},
		{20 * time.Millisecond, 1, true},
		{20 * time.Millisecond, 1, false},
		{1020 * time.Millisecond, 50, true},
		{1020 * time.Millisecond, 1, false},
		{time.Second, 1, false}, // a clock that is set back adds nothing
		{time.Hour, 1000, true}, // a full bucket gives more than its size
		{time.Hour + time.Second, 1, false},
		{2 * time.Hour, 200, true},
	} {
		if got := b.take(tt.n, start.Add(tt.after)); got != tt.want {
			t.Errorf("%d: %v tokens after %v: %v", i, tt.n, tt.after, got)
		}
	}
}

func BenchmarkBucket(b *testing.B) {
	k, now := bucket{rate: 50, burst: 200}, time.Now()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		k.take(1, now)
	}
}
