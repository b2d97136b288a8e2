package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// errSlow is the cancellation cause of an attempt that took too long.
var errSlow = errors.New("the attempt took too long")

// call is one call of the store, including its retries.
type call struct {
	s     *Store
	ctx   context.Context
	op    string
	id    string
	write bool
	size  int // bytes sent

	until time.Time // time of the last try
	began time.Time // start of this try
	pause time.Duration
}

// do makes a call until it succeeds, fails permanently, or its time is over.
func (s *Store) do(ctx context.Context, c call, f func(ctx context.Context) error) error {
	c.s, c.ctx = s, ctx
	c.begin()
	for {
		attempt, stop := c.attempt()
		err := c.convertTimeout(attempt, f(attempt))
		stop()
		if !c.retry(err) {
			return err
		}
	}
}

// begin starts to measure the time of the call.
func (c *call) begin() { c.until, c.pause = time.Now().Add(c.patience()), firstPause }

// attempt returns the context of one try and its cancel function.
func (c *call) attempt() (context.Context, context.CancelFunc) {
	c.began = time.Now()
	d := c.maxTryTime()
	if d < 0 {
		return c.ctx, func() {}
	}
	return context.WithTimeoutCause(c.ctx, d, errSlow)
}

// maxTryTime returns the maximum time of a try; less than 0 means no limit.
func (c *call) maxTryTime() time.Duration {
	d := c.s.opt.Attempt
	if d < 0 {
		return d
	}
	return max(shortest, min(d+time.Duration(c.size>>20)*time.Second, time.Until(c.until)))
}

// shortest is the minimum time of a try.
const shortest = time.Second

// convertTimeout converts the timeout of an attempt to an ErrUnavailable.
func (c *call) convertTimeout(attempt context.Context, err error) error {
	if err == nil || c.ctx.Err() != nil || !errors.Is(context.Cause(attempt), errSlow) || c.s.isOutage(err, c.write) {
		return err
	}
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	return &session.Error{
		Op: c.op, Session: c.id, Err: session.ErrUnavailable, Detail: "the store did not answer in time",
		Hint: "check that the store's server is running and reachable",
	}
}

// retry handles the end of a try, and reports whether to try again; if so, after a pause.
func (c *call) retry(err error) bool {
	s := c.s
	if !s.isOutage(err, c.write) {
		if err == nil {
			s.state.answered(c.write)
		}
		return false
	}
	s.state.failed(err, c.write && !errors.Is(err, session.ErrUnavailable), c.began)
	left := time.Until(c.until)
	if left <= 0 || !c.sleep(min(c.pause, left)) {
		return false
	}
	c.pause = min(2*c.pause, longestPause)
	return true
}

// patience returns the maximum time for which the call is retried.
func (c *call) patience() time.Duration {
	d := c.s.opt.Timeout
	if within, ok := c.ctx.Value(withinKey{}).(time.Duration); ok {
		d = min(d, within)
	}
	if deadline, ok := c.ctx.Deadline(); ok {
		d = min(d, time.Until(deadline))
	}
	return d
}

// sleep waits for a pause; it returns false if the call was cancelled.
func (c *call) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
	case <-c.s.over:
	}
	return false
}

// isOutage reports whether an error means that the store is unavailable and that a retry may
// succeed. A store that accepted writes and is now read-only is failing over.
func (s *Store) isOutage(err error, write bool) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, session.ErrUnavailable):
		return true
	case errors.Is(err, session.ErrReadOnly):
		return write && s.state.hasWritten()
	case errors.Is(err, session.ErrFull):
		return write && s.opt.RetryFull
	}
	return false
}

// describeOutage returns the error of an outage for Check, with its duration.
func describeOutage(err error, since time.Time) error {
	return fmt.Errorf("%w (for %s)", err, time.Since(since).Round(time.Second))
}
