package retry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// state is what is known of the inner store from the calls that were made.
type state struct {
	changed func(error, time.Duration)
	written atomic.Bool // a write succeeded
	away    atomic.Bool // since is set

	mu     sync.Mutex
	since  time.Time // when the first call failed of those since one succeeded
	err    error     // of the last one that failed
	writes bool      // only writes fail: a read that succeeds says nothing
	last   time.Time // when err was
	back   time.Time // when the store was back last
}

func (s *state) hasWritten() bool { return s.written.Load() }

// answered notes a call that succeeded.
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

// failed notes a call that failed since the store is away, or, with writes, since it takes
// no writes. A try that began before the store was back says nothing.
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

// recent is how long a write that failed says that the next one will.
const recent = 30 * time.Second

// Check implements [session.Checker]: it asks the inner store, and remembers writes that
// failed a short while ago since the disk is full or the server takes none.
func (s *Store) Check(ctx context.Context) error {
	if err := session.New(s.inner, nil).Check(ctx); err != nil {
		return err
	}
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	if s.state.writes && !s.state.since.IsZero() && time.Since(s.state.last) < recent {
		return isPermanent(s.state.err, s.state.since)
	}
	return nil
}
