package redis

import (
	"context"
	"sync"
	"time"
)

// idleLimit is the time for which an unused connection is kept.
const idleLimit = 30 * time.Minute

// pool holds the connections to one server.
type pool struct {
	addr  string
	dial  func(ctx context.Context, addr string) (*Conn, error) // returns a connection ready for use
	wait  time.Duration
	turns chan struct{} // one for each connection in use

	life context.Context // ends when the pool is closed, which also ends dialing
	end  context.CancelFunc

	mu   sync.Mutex
	idle []*Conn
	busy map[*Conn]bool
}

func newPool(addr string, size int, wait time.Duration, dial func(context.Context, string) (*Conn, error)) *pool {
	p := &pool{addr: addr, dial: dial, wait: wait, turns: make(chan struct{}, size), busy: map[*Conn]bool{}}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// get returns a connection, which the caller returns with put.
func (p *pool) get(ctx context.Context) (*Conn, error) {
	if err := p.takeTurn(ctx); err != nil {
		return nil, err
	}
	for {
		c, err := p.takeIdle()
		if err != nil {
			<-p.turns
			return nil, err
		}
		if c == nil {
			break
		}
		if time.Since(c.used) < idleLimit && isAlive(c.net) {
			return c, nil
		}
		p.drop(c)
	}
	c, err := p.openNew(ctx)
	if err != nil {
		<-p.turns
		return nil, err
	}
	return c, nil
}

// takeTurn waits until fewer connections than the maximum are in use.
func (p *pool) takeTurn(ctx context.Context) error {
	select {
	case p.turns <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	select {
	case p.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.life.Done():
		return ErrClosed
	case <-timer.C:
		return ErrBusy
	}
}

// takeIdle takes the most recently used connection, or returns nil if there is none.
func (p *pool) takeIdle() (*Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return nil, ErrClosed
	}
	if len(p.idle) == 0 {
		return nil, nil
	}
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	p.busy[c] = true
	return c, nil
}

// openNew opens a connection.
func (p *pool) openNew(ctx context.Context) (*Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(p.life, cancel)
	defer stop()
	c, err := p.dial(ctx, p.addr)
	p.mu.Lock()
	closed := p.life.Err() != nil
	if err == nil && !closed {
		p.busy[c] = true
	}
	p.mu.Unlock()
	if closed {
		if err == nil {
			c.close()
		}
		return nil, ErrClosed
	}
	return c, err
}

// put returns a connection to the pool. A broken one is closed.
func (p *pool) put(c *Conn) {
	defer func() { <-p.turns }()
	if c.broken {
		p.drop(c)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, c)
	if p.life.Err() != nil {
		c.close()
		return
	}
	c.used = time.Now()
	p.idle = append(p.idle, c)
}

func (p *pool) drop(c *Conn) {
	p.mu.Lock()
	delete(p.busy, c)
	p.mu.Unlock()
	c.close()
}

// closeIdle closes idle connections. Connections that are in use are closed when they are returned.
func (p *pool) closeIdle() {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
}

// close closes all connections.
func (p *pool) close() {
	p.closeIdle()
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.busy {
		c.close()
	}
}
