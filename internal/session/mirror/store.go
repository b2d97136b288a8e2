package mirror

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Options adjusts [New]. The zero value works.
type Options struct {
	// Interval is how often all heads are compared; 0: every five minutes, less than 0:
	// only at the start.
	Interval time.Duration
	// CloseTimeout bounds how long Close ships what is left; default 10 seconds. The
	// next [New] ships the rest.
	CloseTimeout time.Duration
	// DeleteOrphans deletes sessions that only the secondary has, when heads are
	// compared: they were deleted by another program, or before a crash. Not when the
	// primary has no session at all.
	DeleteOrphans bool
}

// Status tells how far behind the secondary is.
type Status struct {
	Pending int       // sessions with something to ship
	Orphans int       // sessions that only the secondary has, when the heads were compared last
	Err     error     // of the last attempt that failed and was not made good since; nil when all is well
	Failing time.Time // since when; zero when all is well
	Copied  int64     // records, since the start
}

// Store is a primary with a secondary behind it. It is safe for concurrent use.
type Store struct {
	primary, secondary session.Store
	opt                Options

	mu     sync.Mutex
	work   map[string]*task
	status Status
	round  int64         // of attempts; Flush waits for a later one
	turn   chan struct{} // closed and replaced after each attempt
	closed bool

	compared  bool          // the heads, since the start
	compareAt time.Time     // again
	pause     time.Duration // while the secondary cannot be reached
	resume    time.Time     // no attempt before

	wake   chan struct{}
	life   context.Context // ends with Close
	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once // of Close
}

// New returns a store that is primary, and starts to ship what the secondary lacks.
// Close ends that, and closes both.
func New(primary, secondary session.Store, o *Options) (*Store, error) {
	if primary == nil || secondary == nil || primary == secondary {
		return nil, &session.Error{Op: "mirror", Err: session.ErrInvalid, Detail: "it takes two stores", Hint: "give another store as the secondary"}
	}
	s := &Store{
		primary: primary, secondary: secondary, work: map[string]*task{}, turn: make(chan struct{}),
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

// Unwrap returns the primary, whose powers are the mirror's.
func (s *Store) Unwrap() session.Store { return s.primary }

// Status tells how far behind the secondary is.
func (s *Store) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Pending = len(s.work)
	return st
}

// Flush waits until everything that was acknowledged before the call is in the
// secondary. While that cannot be reached it waits, until ctx ends; a session that
// cannot be shipped at all, since the logs have diverged, ends it with that error once
// all others are there.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	from := s.round
	for _, t := range s.work {
		t.at = time.Time{}
	}
	s.resume = time.Time{}
	s.mu.Unlock()
	s.wakeShipper()
	for {
		s.mu.Lock()
		turn, left, own := s.turn, s.leftSince(from), s.ownError()
		failed, closed := s.status.Err, s.closed
		s.mu.Unlock()
		switch {
		case !left:
			return own
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

// leftSince reports whether something is still to be tried that was there at a round. What failed
// for a reason of its own after it counts as tried.
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

// ownError is an error that only concerns one session.
func (s *Store) ownError() error {
	for _, t := range s.work {
		if t.sessionError != nil {
			return t.sessionError
		}
	}
	return nil
}

// Close ships what is left, no longer than [Options.CloseTimeout], ends shipping, and
// closes both stores. What could not be shipped is in the error; the next [New] does it.
// Closing twice does nothing.
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
	close(s.turn) // whoever waits in Flush
	s.turn = make(chan struct{})
	s.mu.Unlock()
	if err != nil {
		err = &session.Error{Op: "close mirror", Err: err, Detail: "the secondary is behind", Hint: "it catches up when the mirror is opened again"}
	}
	for _, store := range []session.Store{s.primary, s.secondary} {
		if c, ok := store.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}
