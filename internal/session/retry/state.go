package retry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// state is the state of the inner store, as far as the calls so far show it.
type state struct {
	changed func(error, time.Duration)
	written atomic.Bool // a write succeeded
	away    atomic.Bool // since is set

	mu     sync.Mutex
	since  time.Time // first failed call since the last successful one
	err    error     // error of the last failed call
	writes bool      // only writes fail: a successful read proves nothing
	last   time.Time // time of err
	back   time.Time // when the store last became available again
}

func (s *state) hasWritten() bool { return s.written.Load() }

// answered notes a successful call.
func (s *state) answered(write bool) {
	if write && !s.written.Load() {
		s.written.Store(true)
	}
	if !s.away.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || s.writes && !write {
		return
	}
	after := time.Since(s.since)
	s.since, s.err, s.writes, s.back = time.Time{}, nil, false, time.Now()
	s.away.Store(false)
	if s.changed != nil {
		s.changed(nil, after)
	}
}

// failed notes a call that failed because the store is unavailable or, with writes, because it does
// not accept writes. A try that began before the store was available again is ignored.
func (s *state) failed(err error, writes bool, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began.Before(s.back) {
		return
	}
	first := s.since.IsZero()
	if first {
		s.since = time.Now()
		s.away.Store(true)
	}
	s.err, s.last, s.writes = err, time.Now(), writes
	if first && s.changed != nil {
		s.changed(err, 0)
	}
}

// recent is the time after a failed write in which the next write is expected to fail too.
const recent = 30 * time.Second

// Check implements [session.Checker]: it checks the inner store and remembers writes that recently
// failed because the disk was full or the server was read-only.
func (s *Store) Check(ctx context.Context) error {
	if err := session.New(s.inner, nil).Check(ctx); err != nil {
		return err
	}
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	if s.state.writes && !s.state.since.IsZero() && time.Since(s.state.last) < recent {
		return describeOutage(s.state.err, s.state.since)
	}
	return nil
}
