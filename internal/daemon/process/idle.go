package process

import "time"

// idleChecks is how often the daemon checks during the time of ExitIdle whether anything uses it.
const idleChecks = 20

// unused returns a channel that is closed when nothing has used the daemon for the time of
// ExitIdle: there was no connection, and no run worked or waited. The caller calls stop.
func (s *serving) unused() (idle <-chan struct{}, stop func()) {
	limit := s.c.ExitIdle
	if limit <= 0 {
		return nil, func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	tick := time.NewTicker(max(limit/idleChecks, time.Millisecond))
	s.wg.Go(func() {
		defer tick.Stop()
		lastRun := time.Now()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			if s.runs.Active() > 0 {
				lastRun = time.Now()
			}
			if min(s.server.Unused(), time.Since(lastRun)) >= limit {
				close(done)
				return
			}
		}
	})
	return done, func() { close(ended) }
}
