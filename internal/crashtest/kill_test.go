package crashtest

import (
	"testing"
	"time"
)

// A store that acknowledges too early must be detected, or the test below proves nothing.
func TestKillControl(t *testing.T) {
	for _, store := range Stores {
		t.Run(store, func(t *testing.T) {
			s := &series{store: store, work: "log", dir: t.TempDir(), outside: t.TempDir(), rng: random(t), retire: 10, early: true}
			s.undisturbed(t)
			for range 200 {
				if !s.trial(t, nil, nil) {
					t.Log(&s.tally)
					return
				}
			}
			t.Error("nothing was lost: the harness does not see losses")
		})
	}
}

// A run is repeatedly killed at random times and continues each time. A full run is
// HOLDFAST_CRASH_TRIALS=2000.
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
				for n := trials(t, full); s.tally.Killed < n; {
					if !s.trial(t, nil, nil) {
						t.Fatal("stopped at the first loss")
					}
				}
				s.finish(t)
				t.Logf("%.0f trials/s", float64(s.tally.Trials)/time.Since(start).Seconds())
			})
		}
	}
}
