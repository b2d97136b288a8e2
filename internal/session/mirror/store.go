package mirror

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Interval is the time between two comparisons of all heads. 0 means five minutes; less than 0
	// means that the heads are compared only at the start.
	Interval time.Duration
	// CloseTimeout is the maximum time that Close spends on replicating pending records; default 10
	// s. The next [New] replicates the rest.
	CloseTimeout time.Duration
	// DeleteOrphans deletes sessions that only the secondary has when heads are compared: another
	// program deleted them in the primary, or a crash interrupted a delete. It does nothing if the
	// primary has no session at all.
	DeleteOrphans bool
}

// Status is the replication status.
type Status struct {
	Pending int       // sessions with pending work
	Orphans int       // sessions that only the secondary has, at the last comparison
	Err     error     // the current failure; nil if there is none
	Failing time.Time // start of the failure; zero if there is none
	Copied  int64     // records copied since the start
}

// Store is a primary that is replicated to a secondary. It is safe for concurrent use.
type Store struct {
	primary, secondary session.Store
	opt                Options

	mu        sync.Mutex
	work      map[string]*task
	status    Status
	round     int64         // number of attempts so far; Flush waits for a later attempt
	attempted chan struct{} // closed and replaced after each attempt
	closed    bool

	compared  bool          // the heads were compared since the start
	compareAt time.Time     // time of the next comparison
	pause     time.Duration // pause while the secondary is unreachable
	resume    time.Time     // earliest time of the next attempt

	wake   chan struct{}
	life   context.Context // ends with Close
	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once // Close runs once
}

// New returns a store that works like primary, and starts to replicate to secondary. Close ends the
// replication and closes both stores.
func New(primary, secondary session.Store, o *Options) (*Store, error) {
	if primary == nil || secondary == nil || primary == secondary {
		return nil, &session.Error{Op: "mirror", Err: session.ErrInvalid, Detail: "two different stores are required", Hint: "use another store as the secondary"}
	}
	s := &Store{
		primary: primary, secondary: secondary, work: map[string]*task{}, attempted: make(chan struct{}),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if o != nil {
		s.opt = *o
	}
	if s.opt.Interval == 0 {
		s.opt.Interval = 5 * time.Minute
	}
	if s.opt.CloseTimeout <= 0 {
		s.opt.CloseTimeout = 10 * time.Second
	}
	s.life, s.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(s.done)
		s.run(s.life)
	}()
	return s, nil
}

// Unwrap returns the primary, whose optional interfaces the mirror has.
func (s *Store) Unwrap() session.Store { return s.primary }

// Status returns the replication status.
func (s *Store) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Pending = len(s.work)
	return st
}

// Flush waits until every record that was acknowledged before the call is in the secondary. While
// the secondary is unreachable it waits until ctx ends. If a session cannot be replicated because
// the logs have diverged, Flush returns that error once all other sessions are replicated.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	from := s.round
	for _, t := range s.work {
		t.at = time.Time{}
	}
	s.resume = time.Time{}
	s.mu.Unlock()
	s.wakeReplication()
	for {
		s.mu.Lock()
		turn, left, sessionErr := s.attempted, s.leftSince(from), s.ownError()
		failed, closed := s.status.Err, s.closed
		s.mu.Unlock()
		switch {
		case !left:
			return sessionErr
		case closed:
			return &session.Error{Op: "flush mirror", Err: session.ErrClosed}
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), failed)
		}
	}
}

// leftSince reports whether work from before a round is still untried. Work counts as tried if it
// failed after the round with an error that concerns only its session.
func (s *Store) leftSince(round int64) bool {
	if !s.compared || s.round <= round {
		return true
	}
	for _, t := range s.work {
		if t.since <= round && (t.sessionError == nil || t.tried <= round) {
			return true
		}
	}
	return false
}

// ownError returns an error that concerns only one session.
func (s *Store) ownError() error {
	for _, t := range s.work {
		if t.sessionError != nil {
			return t.sessionError
		}
	}
	return nil
}

// Close replicates pending records for at most [Options.CloseTimeout] and closes both stores. It
// returns an error if records are left; the next [New] replicates them. A second call does
// nothing.
func (s *Store) Close() (err error) {
	s.once.Do(func() { err = s.close() })
	return err
}

func (s *Store) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.opt.CloseTimeout)
	defer cancel()
	err := s.Flush(ctx)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	<-s.done
	s.mu.Lock()
	close(s.attempted) // wakes Flush
	s.attempted = make(chan struct{})
	s.mu.Unlock()
	if err != nil {
		err = &session.Error{Op: "close mirror", Err: err, Detail: "the secondary is not up to date", Hint: "open the mirror again; it then catches up"}
	}
	for _, store := range []session.Store{s.primary, s.secondary} {
		if c, ok := store.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}
