package retry

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast/internal/session/logwatch"
	"github.com/holdfast-dev/holdfast/session"
)

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	size := 0
	for i := range b.Records {
		size += len(b.Records[i].Payload)
	}
	return s.do(ctx, call{op: "append", id: id, write: true, size: size}, func(ctx context.Context) error {
		return s.inner.Append(ctx, id, b)
	})
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context, q session.Query) (page session.Page, err error) {
	err = s.do(ctx, call{op: "list", id: q.ID}, func(ctx context.Context) error {
		page, err = s.inner.List(ctx, q)
		return err
	})
	return page, err
}

// Read implements [session.Store]. If the read is interrupted, it continues after the last record
// that was read.
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		c := call{s: s, ctx: ctx, op: "read", id: id}
		c.begin()
		r := r // each range over the sequence starts again from r
		for {
			err, ended := s.readOnce(&c, &r, yield)
			if ended || err == nil && c.noteEnd() {
				return
			}
			if !c.retry(err) {
				yield(session.Record{}, err)
				return
			}
		}
	}
}

// noteEnd notes that the read reached its end.
func (c *call) noteEnd() bool {
	c.s.state.answered(false)
	return true
}

// readOnce reads the range r and advances it. The result failed is an error to retry or to return;
// ended is true if the caller stopped reading.
func (s *Store) readOnce(c *call, r *session.Range, yield func(session.Record, error) bool) (failed error, ended bool) {
	ctx, watch := c.watched()
	defer watch.stop()
	for rec, err := range s.inner.Read(ctx, c.id, *r) {
		if err = c.convertTimeout(ctx, err); s.isOutage(err, false) {
			return err, false
		}
		watch.pause()
		if !yield(rec, err) {
			return nil, true
		}
		watch.restart()
		if err == nil {
			c.begin() // a later outage gets the full retry time again
			if moved := advance(r, rec.Seq); !moved {
				return nil, false
			}
		}
	}
	return nil, false
}

// advance makes a range start after a record, and reports whether anything is left.
func advance(r *session.Range, seq int64) bool {
	if r.Limit > 0 {
		if r.Limit--; r.Limit == 0 {
			return false
		}
	}
	if !r.Reverse {
		r.After = seq
		return r.Until == 0 || seq < r.Until
	}
	r.Until = seq - 1
	return r.Until > r.After
}

// Watch implements [session.Watcher] and continues when the store is available again. It restarts a
// watch that reported nothing for the time of one try, because the server may have disappeared.
func (s *Store) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		c := call{s: s, ctx: ctx, op: "watch", id: id}
		c.begin()
		for after := after; ; {
			head, err, more := s.watchOnce(&c, after, yield)
			if after = max(after, head); !more {
				return
			}
			if err != nil && !c.retry(err) {
				yield(0, err)
				return
			}
		}
	}
}

// watchOnce watches until the watch fails, reports nothing for the time of one try, or the caller
// stops reading. It returns the last reported head.
func (s *Store) watchOnce(c *call, after int64, yield func(int64, error) bool) (head int64, failed error, more bool) {
	c.began, head = time.Now(), after
	ctx, stop := c.ctx, func() {}
	if d := s.opt.Attempt; d > 0 {
		ctx, stop = context.WithTimeoutCause(ctx, d, errSlow)
	}
	defer stop()
	for h, err := range logwatch.WatchUntil(ctx, s.ctx, s.inner, c.id, after) {
		switch {
		case s.isOutage(err, false):
			return head, err, true
		case err != nil && errors.Is(context.Cause(ctx), errSlow): // the caller or the store may end at the same time: the next try shows it
			return head, nil, true
		case !yield(h, err) || err != nil:
			return head, nil, false
		}
		head = h
		c.begin()
	}
	return head, nil, false
}

// stopwatch ends a read in which the store sends nothing for too long. The reader's own time is
// not counted.
type stopwatch struct {
	timer *time.Timer // nil: no limit
	d     time.Duration
	end   context.CancelCauseFunc
}

func (c *call) watched() (context.Context, *stopwatch) {
	c.began = time.Now()
	w := &stopwatch{d: c.maxTryTime()}
	if w.d < 0 {
		return c.ctx, w
	}
	ctx, end := context.WithCancelCause(c.ctx)
	w.end = end
	w.timer = time.AfterFunc(w.d, func() { end(errSlow) })
	return ctx, w
}

func (w *stopwatch) pause() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *stopwatch) restart() {
	if w.timer != nil {
		w.timer.Reset(w.d)
	}
}

func (w *stopwatch) stop() {
	if w.timer != nil {
		w.timer.Stop()
		w.end(nil)
	}
}

// Acquire implements [session.Leaser]. If an earlier try acquired the lease but its answer was
// lost, the lease belongs to this caller.
func (s *Store) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (l session.Lease, err error) {
	leaser, ok := session.As[session.Leaser](s.inner)
	if !ok {
		return session.Lease{}, unsupported("take lease", id)
	}
	again := false
	err = s.do(ctx, call{op: "take lease", id: id, write: true}, func(ctx context.Context) error {
		l, err = leaser.Acquire(ctx, id, h, func(held session.Lease) bool {
			same := again && held.Holder == h.Holder && held.Since.Equal(h.Since)
			return same || steal != nil && steal(held)
		})
		again = true
		return err
	})
	return l, err
}

// Renew implements [session.Leaser].
func (s *Store) Renew(ctx context.Context, id string, l session.Lease) error {
	leaser, ok := session.As[session.Leaser](s.inner)
	if !ok {
		return unsupported("renew lease", id)
	}
	return s.do(ctx, call{op: "renew lease", id: id, write: true}, func(ctx context.Context) error {
		return leaser.Renew(ctx, id, l)
	})
}

// Release implements [session.Leaser].
func (s *Store) Release(ctx context.Context, id string, l session.Lease) error {
	leaser, ok := session.As[session.Leaser](s.inner)
	if !ok {
		return unsupported("release lease", id)
	}
	return s.do(ctx, call{op: "release lease", id: id, write: true}, func(ctx context.Context) error {
		return leaser.Release(ctx, id, l)
	})
}

// Held implements [session.Leaser].
func (s *Store) Held(ctx context.Context, id string) (held *session.Lease, err error) {
	reader, ok := session.As[session.Leaser](s.inner)
	if !ok {
		return nil, unsupported("read lease", id)
	}
	err = s.do(ctx, call{op: "read lease", id: id}, func(ctx context.Context) error {
		held, err = reader.Held(ctx, id)
		return err
	})
	return held, err
}

func unsupported(op, id string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrUnsupported, Detail: "the store does not support leases"}
}

// IsUnavailable reports whether an error means that a store is unavailable or read-only for now,
// and not that the request is wrong.
func IsUnavailable(err error) bool {
	return errors.Is(err, session.ErrUnavailable) || errors.Is(err, session.ErrFull) || errors.Is(err, session.ErrReadOnly)
}
