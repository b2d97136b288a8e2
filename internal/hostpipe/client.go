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

// Handler handles the host's requests to the process in the container. Its methods are called on separate
// goroutines; Submit's error is sent back.
type Handler interface {
	Interrupt()
	Submit(parts []byte) error // JSON of input parts, see [DecodeParts]
}

// Client gives the process in the container the host's store, models and approvers over a connection. It is safe
// for concurrent use. Create one with [Dial].
type Client struct {
	f       frames
	handler Handler
	closing sync.Once
	done    chan struct{} // closed when reading has ended
	work    sync.WaitGroup

	mu    sync.Mutex
	calls map[uint64]*call
	next  uint64
	lost  error // why the connection ended
	left  bool  // closed by this side
}

var (
	_ session.Store     = (*Client)(nil)
	_ session.Leaser    = (*Client)(nil)
	_ session.Watcher   = (*Client)(nil)
	_ session.Recoverer = (*Client)(nil)
	_ io.Closer         = (*Client)(nil)
)

// Dial connects to a [Server] over rw, which Close closes. It does not wait for the server. If handler is nil, the
// host's requests are rejected.
func Dial(rw io.ReadWriteCloser, handler Handler) *Client {
	c := &Client{f: frames{rw: rw, in: containerOps, out: hostOps}, handler: handler, done: make(chan struct{}), calls: map[uint64]*call{}}
	go c.read()
	return c
}

// Close ends the connection: the host takes back its leases. Running calls return an error that wraps [ErrLost],
// because they may have taken effect.
func (c *Client) Close() error {
	c.mu.Lock()
	c.left = true
	c.mu.Unlock()
	c.end(session.ErrClosed)
	<-c.done
	c.work.Wait()
	return nil
}

// end ends the connection with the error of later calls.
func (c *Client) end(why error) {
	c.mu.Lock()
	if c.lost == nil {
		c.lost = why
	}
	c.mu.Unlock()
	c.closing.Do(func() { _ = c.f.rw.Close() }) // the connection ends in any case, so an error does not matter
}

// Lost is closed when the connection has ended.
func (c *Client) Lost() <-chan struct{} { return c.done }

// call is a running request. Responses queue up, so that an unread one does not block others.
type call struct {
	op    string
	mu    sync.Mutex
	queue []answer
	bell  chan struct{}
}

type answer struct {
	reply
	blob []byte
	err  error // the connection's error
}

func (k *call) put(a answer) {
	k.mu.Lock()
	if k.op == opWatch && a.More && len(k.queue) > 0 {
		k.queue = k.queue[:0] // only the newest head matters
	}
	k.queue = append(k.queue, a)
	k.mu.Unlock()
	select {
	case k.bell <- struct{}{}:
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

// read passes responses to the waiting calls.
func (c *Client) read() {
	defer close(c.done)
	var err error
	for {
		var a answer
		if a.blob, err = c.f.read(&a.reply); err != nil {
			break
		}
		if a.Op != "" {
			c.asked(a.reply)
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
		if c.left && k.op != opAppend { // it has changed nothing
			k.put(answer{err: session.ErrClosed})
		} else {
			k.put(answer{err: err})
		}
	}
}

// asked handles a request of the host.
func (c *Client) asked(r reply) {
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
		_ = c.f.write(&request{ID: r.ID, Op: opReply, Error: toWire(err)}, nil) // if the connection is lost, the host knows
	})
}

// start sends a request.
func (c *Client) start(r *request, blob []byte) (*call, error) {
	k := &call{op: r.Op, bell: make(chan struct{}, 1)}
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
		c.end(fmt.Errorf("%w: %w", ErrLost, err)) // a partial frame may have been sent, so nothing can follow
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
		case <-k.bell:
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
	}
}

// cancel informs the host that the response is no longer needed.
func (c *Client) cancel(id uint64) {
	_ = c.f.write(&request{ID: id, Op: opCancel}, nil) // if the connection is lost, there is nothing to cancel
}

// patience is how long to wait for the outcome of a canceled change.
const patience = 5 * time.Second

// ask sends a request and waits for its one response.
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
	if a.ID == r.ID || a.err != nil { // it has been answered, or never will be
		return a, err
	}
	c.cancel(r.ID)
	return c.outcome(ctx, k, r)
}

// outcome waits for the outcome of a canceled request, because the caller should know whether something was
// appended.
func (c *Client) outcome(ctx context.Context, k *call, r *request) (answer, error) {
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	a, err := k.wait(late, r)
	if late.Err() != nil && a.ID != r.ID {
		c.forget(r.ID)
		return answer{}, ctx.Err()
	}
	return a, err
}
