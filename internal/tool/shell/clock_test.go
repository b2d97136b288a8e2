package shell

import (
	"testing"
	"testing/synctest"
	"time"
)

// The time of a command stands still while somebody is asked, also when several
// things are asked at once.
func TestClockPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		over := make(chan time.Duration, 1)
		c := newClock()
		c.start(10*time.Second, func() { over <- time.Since(began) })
		time.Sleep(4 * time.Second)
		first := c.pause()
		time.Sleep(time.Minute)
		second := c.pause()
		first()
		time.Sleep(time.Minute)
		second()
		if took := <-over; took != 10*time.Second+2*time.Minute {
			t.Errorf("it was over after %s", took)
		}
		c.stop()
		c.pause()() // after the end it does nothing
	})
}
