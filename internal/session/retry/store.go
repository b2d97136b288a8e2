package retry

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Options adjusts [New]. The zero value works.
type Options struct {
	// Timeout is how long a call is tried again while the store is away; default [DefaultFor].
	// Less than 0 is not at all.
	Timeout time.Duration
	// Attempt bounds one try, so that a server which accepts a connection and says nothing
	// is noticed; what is appended gets a second more for each megabyte. Default 15 s; less
	// than 0 is no bound, for stores on the local disk.
	Attempt time.Duration
	// RetryFull has calls wait as well while there is no space left.
	RetryFull bool
	// Changed is told when the store goes away, with the error, and when it is back: nil,
	// and how long it was away. It must not call the store.
	Changed func(err error, after time.Duration)
}

// DefaultFor is how long a call waits for a store by default: longer than a failover or a
// restart of a server takes.
const DefaultFor = 5 * time.Minute

const (
	defaultAttempt = 15 * time.Second
	firstPause     = 50 * time.Millisecond
	longestPause   = time.Second
)

// Store is a store that makes calls again while the inner store is away. It is safe for
// concurrent use. Appending, reading, listing and leases are tried again; the other powers
// are those of the inner store.
type Store struct {
	inner session.Store
	opt   Options
	over  chan struct{} // closed by GiveUp
	end   sync.Once
	ctx   context.Context // ends with Close
	close context.CancelFunc
	state state
}

var (
	_ session.Store   = (*Store)(nil)
	_ session.Leaser  = (*Store)(nil)
	_ session.Watcher = (*Store)(nil)
	_ session.Checker = (*Store)(nil)
)

// New returns a store around inner. Closing it closes inner.
func New(inner session.Store, o *Options) *Store {
	s := &Store{inner: inner, over: make(chan struct{})}
	if o != nil {
		s.opt = *o
	}
	if s.opt.Timeout == 0 {
		s.opt.Timeout = DefaultFor
	}
	if s.opt.Attempt == 0 {
		s.opt.Attempt = defaultAttempt
	}
	s.state.changed = s.opt.Changed
	s.ctx, s.close = context.WithCancel(context.Background())
	return s
}

// Unwrap returns the inner store.
func (s *Store) Unwrap() session.Store { return s.inner }

// GiveUp ends the waiting, of calls under way and of later ones: the program is about to
// end. Each call is still tried once.
func (s *Store) GiveUp() { s.end.Do(func() { close(s.over) }) }

// Close ends the waiting and closes the inner store.
func (s *Store) Close() error {
	s.GiveUp()
	s.close()
	if c, ok := s.inner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type withinKey struct{}

// Within returns a context whose calls wait for a store that is away no longer than d, and
// hang no longer; 0 is one try. It bounds only what an enclosing context allows.
func Within(ctx context.Context, d time.Duration) context.Context {
	if outer, ok := ctx.Value(withinKey{}).(time.Duration); ok && outer <= d {
		return ctx
	}
	return context.WithValue(ctx, withinKey{}, d)
}
