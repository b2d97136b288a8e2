package retry

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Timeout is the maximum time for which a call is retried while the store is unavailable;
	// default [DefaultTimeout]. Less than 0 means no retry.
	Timeout time.Duration
	// Attempt is the timeout of one try, which detects a server that accepts a connection but does
	// not answer. For an append, the timeout is one second longer per megabyte. Default 15 s; less
	// than 0 means no timeout, for stores on the local disk.
	Attempt time.Duration
	// RetryFull also retries calls while the store has no space left.
	RetryFull bool
	// Changed is called when the store becomes unavailable, with the error, and when it is
	// available again, with nil and the length of the outage. It must not call the store.
	Changed func(err error, after time.Duration)
}

// DefaultTimeout is the default time for which a call is retried. It is longer than a failover or a
// restart of a server takes.
const DefaultTimeout = 5 * time.Minute

const (
	defaultAttempt = 15 * time.Second
	firstPause     = 50 * time.Millisecond
	longestPause   = time.Second
)

// Store retries calls while the inner store is unavailable. It is safe for concurrent use.
// Appending, reading, listing and lease calls are retried; calls of other optional interfaces go to
// the inner store without retries.
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
		s.opt.Timeout = DefaultTimeout
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

// GiveUp ends all pauses between tries, the current and the later ones, because the program is
// about to end. Each call is still tried once.
func (s *Store) GiveUp() { s.end.Do(func() { close(s.over) }) }

// Close ends all pauses between tries and closes the inner store.
func (s *Store) Close() error {
	s.GiveUp()
	s.close()
	if c, ok := s.inner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type withinKey struct{}

// Within returns a context whose calls are retried for at most d, and time out after d; 0 means
// one try. It can only shorten the time of an enclosing context.
func Within(ctx context.Context, d time.Duration) context.Context {
	if outer, ok := ctx.Value(withinKey{}).(time.Duration); ok && outer <= d {
		return ctx
	}
	return context.WithValue(ctx, withinKey{}, d)
}
