package crashtest

import (
	"testing"
	"time"
)

// A run is killed at random moments, over and over, and goes on each time.
// A full run is HOLDFAST_CRASH_TRIALS=2000.
func TestKill(t *testing.T) {
	for _, store := range Stores {
		for _, work := range []string{"agent", "log"} {
			t.Run(store+"/"+work, func(t *testing.T) {
				full := 2000
				if work == "log" {
					full = 500
				}
				s := &series{store: store, work: work, dir: t.TempDir(), outside: t.TempDir(), rng: random(t), retire: 25}
				s.undisturbed(t)
				start := time.Now()
				for range trials(t, full) {
					if !s.trial(t, nil, nil) {
						t.Fatal("stopped at the first loss")
					}
				}
				s.undisturbed(t)
				t.Logf("%v; %.0f trials/s", &s.tally, float64(s.tally.Trials)/time.Since(start).Seconds())
			})
		}
	}
}
