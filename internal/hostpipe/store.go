package hostpipe

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/holdfast-dev/holdfast/session"
)

// Append implements [session.Store]. It returns after the host's store has confirmed the records.
func (c *Client) Append(ctx context.Context, id string, b session.Batch) error {
	r := &request{Op: opAppend, Session: id, Expect: b.Expect, Epoch: b.Epoch}
	var blob []byte
	r.Records, blob = pack(b.Records)
	_, err := c.ask(ctx, r, blob)
	return err
}

// Read implements [session.Store]. It fetches one page at a time, so that a slow or stopped reader
// does not block others.
func (c *Client) Read(ctx context.Context, id string, want session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		want := want
		for {
			a, err := c.ask(ctx, &request{Op: opRead, Session: id, Range: &wireRange{want.After, want.Until, want.Reverse, want.Limit}}, nil)
			if err != nil {
				yield(session.Record{}, err)
				return
			}
			blob := a.blob
			var seq int64
			for i := range a.Records {
				if err := ctx.Err(); err != nil {
					yield(session.Record{}, err)
					return
				}
				w := &a.Records[i]
				seq = w.Seq
				if w.Error != nil {
					if !yield(session.Record{}, w.Error.err()) {
						return
					}
					continue
				}
				var r session.Record
				if r, blob, err = w.record(blob); err != nil {
					yield(session.Record{}, &session.Error{Op: "read", Session: id, Err: err})
					return
				}
				if !yield(r, nil) {
					return
				}
			}
			if !a.Rest || len(a.Records) == 0 || !advance(&want, seq, len(a.Records)) {
				return
			}
		}
	}
}

// advance moves a range past a page of n records that ends with seq. It reports whether there may
// be more records.
func advance(r *session.Range, seq int64, n int) bool {
	if r.Limit > 0 {
		if r.Limit -= n; r.Limit <= 0 {
			return false
		}
	}
	if r.Reverse {
		r.Until = seq - 1
		return r.Until > r.After
	}
	r.After = seq
	return r.Until == 0 || r.After < r.Until
}

// List implements [session.Store].
func (c *Client) List(ctx context.Context, q session.Query) (session.Page, error) {
	a, err := c.ask(ctx, &request{Op: opList, Query: &q}, nil)
	if err != nil {
		return session.Page{}, err
	}
	if a.Page == nil {
		return session.Page{}, &session.Error{Op: "list", Err: fmt.Errorf("%w: it has no page", errFrame)}
	}
	return *a.Page, nil
}

// Acquire implements [session.Leaser]. The client calls steal to decide whether to take over a
// lease, and the host then takes it over if it is still the same lease. A host that holds the
// leases itself decides alone.
func (c *Client) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	r := &request{Op: opAcquire, Session: id, Lease: &h}
	for {
		a, err := c.ask(ctx, r, nil)
		busy := busyError(err)
		switch {
		case busy != nil && busy.Lease.Epoch != r.Steal && steal(busy.Lease):
			r.Steal = busy.Lease.Epoch
			continue
		case err != nil:
			return session.Lease{}, err
		case a.Lease == nil:
			return session.Lease{}, &session.Error{Op: "acquire", Session: id, Err: fmt.Errorf("%w: it has no lease", errFrame)}
		}
		return *a.Lease, nil
	}
}

// Renew implements [session.Leaser].
func (c *Client) Renew(ctx context.Context, id string, l session.Lease) error {
	_, err := c.ask(ctx, &request{Op: opRenew, Session: id, Lease: &l}, nil)
	return err
}

// Release implements [session.Leaser].
func (c *Client) Release(ctx context.Context, id string, l session.Lease) error {
	_, err := c.ask(ctx, &request{Op: opRelease, Session: id, Lease: &l}, nil)
	return err
}

// Held implements [session.Leaser].
func (c *Client) Held(ctx context.Context, id string) (*session.Lease, error) {
	a, err := c.ask(ctx, &request{Op: opHeld, Session: id}, nil)
	return a.Lease, err
}

// Recover implements [session.Recoverer].
func (c *Client) Recover(ctx context.Context, id string) (*session.Recovery, error) {
	a, err := c.ask(ctx, &request{Op: opRecover, Session: id}, nil)
	return a.Recovery, err
}

// Watch implements [session.Watcher].
func (c *Client) Watch(ctx context.Context, id string, after int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		r := &request{Op: opWatch, Session: id, After: after}
		if err := ctx.Err(); err != nil {
			yield(0, err)
			return
		}
		k, err := c.start(r, nil)
		for err == nil {
			var a answer
			if a, err = k.wait(ctx, r); err == nil && !a.More {
				return
			}
			if err == nil && !yield(a.Head, nil) {
				c.drop(r.ID)
				return
			}
		}
		c.drop(r.ID)
		yield(0, err)
	}
}

// drop ends a request whose responses are no longer needed.
func (c *Client) drop(id uint64) {
	c.mu.Lock()
	_, pending := c.calls[id]
	delete(c.calls, id)
	c.mu.Unlock()
	if pending {
		c.cancel(id)
	}
}

// busyError returns the error of a lease that another process holds, or nil.
func busyError(err error) *session.BusyError {
	busy, _ := errors.AsType[*session.BusyError](err)
	return busy
}
