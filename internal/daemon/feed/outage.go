package feed

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// outage is the state of a store outage.
type outage struct {
	mu       sync.Mutex
	since    time.Time // the zero time means that the store is available
	reported time.Time // when the subscribers were last notified
	err      error
}

func (o *outage) get() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// record records a failed read. It reports whether to notify subscribers: after the outage has
// lasted a while, and then repeatedly.
func (o *outage) record(err error, lasts time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.err = err; o.since.IsZero() {
		o.since, o.reported = now, now
	}
	if now.Sub(o.reported) < lasts {
		return false
	}
	o.reported = now
	return true
}

func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.since, o.reported, o.err = time.Time{}, time.Time{}, nil
}

// isUnavailable reports whether an error affects all sessions of the store.
func isUnavailable(err error) bool {
	return errors.Is(err, session.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// reportOutage notifies the subscribers of a feed that the store cannot be read.
func (f *feed) reportOutage(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deleted != nil || f.head == unknown {
		return
	}
	f.push(entry{err: err, seq: f.head, state: transient})
	f.wakeReaders()
}

// Stale returns why a waiting subscription may have missed records: the last attempt to read the
// log failed. Nil means that nothing was missed.
func (s *Subscription) Stale() error {
	if err := s.feed.hub.unavailable.get(); err != nil {
		return err
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	if s.feed.failures > 0 {
		return s.feed.failure
	}
	return nil
}
