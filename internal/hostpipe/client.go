package hostpipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Handler handles the host's requests to the process in the container. Its methods are called on
// separate goroutines. The error of Submit is sent to the host.
type Handler interface {
	Interrupt()
	Submit(parts []byte) error // JSON text of input parts, see [DecodeParts]
}

// Client gives the process in the container access to the host's store, models and approvers over a
// connection. It is safe for concurrent use. Create one with [Dial].
type Client struct {
	f       frames
	handler Handler
	closing sync.Once
	done    chan struct{} // closed when read has returned
	work    sync.WaitGroup

	mu     sync.Mutex
	calls  map[uint64]*call
	next   uint64
	lost   error // why the connection ended
	closed bool  // closed by this side
}

var (
	_ session.Store     = (*Client)(nil)
	_ session.Leaser    = (*Client)(nil)
	_ session.Watcher   = (*Client)(nil)
	_ session.Recoverer = (*Client)(nil)
	_ io.Closer         = (*Client)(nil)
)

// Dial returns a client of the [Server] at the other end of rw. It does not wait for the server.
// [Client.Close] closes rw. If handler is nil, the client rejects requests of the host.
func Dial(rw io.ReadWriteCloser, handler Handler) *Client {
	c := &Client{f: frames{rw: rw, in: containerReadLimits, out: hostReadLimits}, handler: handler, done: make(chan struct{}), calls: map[uint64]*call{}}
	go c.read()
	return c
}

// Close ends the connection. The host then releases the leases of the client. A running append
// returns an error that wraps [ErrLost], because it may have taken effect; other running calls
// return one that wraps [session.ErrClosed].
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end(session.ErrClosed)
	<-c.done
	c.work.Wait()
	return nil
}

// end ends the connection. Later calls return the given error.
func (c *Client) end(why error) {
	c.mu.Lock()
	if c.lost == nil {
		c.lost = why
	}
	c.mu.Unlock()
	c.closing.Do(func() { _ = c.f.rw.Close() }) // the connection ends anyway, so an error does not matter
}

// Lost returns a channel that is closed when the connection has ended.
func (c *Client) Lost() <-chan struct{} { return c.done }

// call is a running request. Its responses are queued, so that an unread response does not block
// other calls.
type call struct {
	op    string
	mu    sync.Mutex
	queue []answer
	ready chan struct{}
}

type answer struct {
	reply
	blob []byte
	err  error // the connection's error
}

func (k *call) put(a answer) {
	k.mu.Lock()
	if k.op == opWatch && a.More && len(k.queue) > 0 {
		k.queue = k.queue[:0] // only the newest head is needed
	}
	k.queue = append(k.queue, a)
	k.mu.Unlock()
	select {
	case k.ready <- struct{}{}:
	default:
	}
}

// take returns the next response. The end of the connection is always the last response.
func (k *call) take() (answer, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) == 0 {
		return answer{}, false
	}
	a := k.queue[0]
	if a.err == nil {
		k.queue = k.queue[1:]
	}
	return a, true
}

// read passes each response to the call that waits for it.
func (c *Client) read() {
	defer close(c.done)
	var err error
	for {
		var a answer
		if a.blob, err = c.f.read(&a.reply); err != nil {
			break
		}
		if a.Op != "" {
			c.handleRequest(a.reply)
			continue
		}
		c.mu.Lock()
		k := c.calls[a.ID]
		if k != nil && !a.More {
			delete(c.calls, a.ID)
		}
		c.mu.Unlock()
		if k != nil {
			k.put(a)
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		err = ErrLost
	} else {
		err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	c.end(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, k := range c.calls {
		delete(c.calls, id)
		if c.closed && k.op != opAppend { // only after an append the caller must know that the outcome is unknown
			k.put(answer{err: session.ErrClosed})
		} else {
			k.put(answer{err: err})
		}
	}
}

// handleRequest handles a request of the host.
func (c *Client) handleRequest(r reply) {
	c.work.Go(func() {
		var err error
		switch {
		case c.handler == nil:
			err = session.ErrUnsupported
		case r.Op == opInterrupt:
			c.handler.Interrupt()
			return
		case r.Op == opSubmit:
			err = c.handler.Submit(r.Parts)
		default:
			err = fmt.Errorf("%w: unknown operation %q", session.ErrUnsupported, r.Op)
		}
		_ = c.f.write(&request{ID: r.ID, Op: opReply, Error: toWire(err)}, nil) // if the connection is lost, the host already knows
	})
}

// start sends a request.
func (c *Client) start(r *request, blob []byte) (*call, error) {
	k := &call{op: r.Op, ready: make(chan struct{}, 1)}
	c.mu.Lock()
	if c.lost != nil {
		defer c.mu.Unlock()
		return nil, &session.Error{Op: r.Op, Session: r.Session, Err: c.lost}
	}
	c.next++
	r.ID = c.next
	c.calls[r.ID] = k
	c.mu.Unlock()
	if err := c.f.write(r, blob); errors.Is(err, session.ErrInvalid) { // nothing was sent
		c.forget(r.ID)
		return nil, &session.Error{Op: r.Op, Session: r.Session, Err: err}
	} else if err != nil {
		c.end(fmt.Errorf("%w: %w", ErrLost, err)) // the frame may have been sent in part, so no other can follow
		c.forget(r.ID)
		return nil, &session.Error{Op: r.Op, Session: r.Session, Err: fmt.Errorf("%w: %w", ErrLost, err)}
	}
	return k, nil
}

func (c *Client) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// wait returns the next response to a request.
func (k *call) wait(ctx context.Context, r *request) (answer, error) {
	for {
		if a, ok := k.take(); ok {
			if a.err != nil {
				return a, &session.Error{Op: r.Op, Session: r.Session, Err: a.err}
			}
			return a, a.Error.err()
		}
		select {
		case <-k.ready:
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
}

// cancel tells the host that the response is no longer needed.
func (c *Client) cancel(id uint64) {
	_ = c.f.write(&request{ID: id, Op: opCancel}, nil) // if the connection is lost, there is nothing to cancel
}

// cancelWait is how long a client waits for the outcome of a request that it has canceled.
const cancelWait = 5 * time.Second

// ask sends a request and waits for its single response.
func (c *Client) ask(ctx context.Context, r *request, blob []byte) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	k, err := c.start(r, blob)
	if err != nil {
		return answer{}, err
	}
	a, err := k.wait(ctx, r)
	if err == nil || ctx.Err() == nil {
		return a, err
	}
	if a.ID == r.ID || a.err != nil { // the request was already answered, or will never be answered
		return a, err
	}
	c.cancel(r.ID)
	return c.outcome(ctx, k, r)
}

// outcome waits for the outcome of a canceled request, so that the caller learns whether records
// were appended.
func (c *Client) outcome(ctx context.Context, k *call, r *request) (answer, error) {
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer stop()
	a, err := k.wait(late, r)
	if late.Err() != nil && a.ID != r.ID {
		c.forget(r.ID)
		return answer{}, ctx.Err()
	}
	return a, err
}
