package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"runtime"
	"sync"
	"time"
)

// Options say where, as whom and how patiently.
type Options struct {
	Network  string // "tcp" or "unix"; "" is "tcp"
	Addr     string // host:port, or the path of a socket
	User     string
	Password string
	Database int
	TLS      *tls.Config // nil is without
	// Key names the slot in which a client of a cluster works; "" is no cluster.
	Key string
	// Dial is how long connecting may take, Timeout sending, and then reading the
	// answer; 0 is as long as it takes.
	Dial, Timeout time.Duration
	// Size is how many connections are in use at most; 0 is 10 for each processor. Who
	// finds no free one waits for Timeout and a second.
	Size int
	// Admit looks at each new connection before it is used, and may refuse it.
	Admit func(context.Context, *Conn) error
}

// Client has connections to a server, or to the one of a cluster that has a slot. It is
// safe for concurrent use. Whoever made it closes it.
type Client struct {
	opt  Options
	slot int

	mu     sync.Mutex
	closed bool
	pools  map[string]*pool
	owner  string   // in a cluster, who has the slot; "" is not known
	known  []string // in a cluster, the addresses of its servers
	lost   string   // in a cluster, who was the owner last: others are asked before it
}

// New makes a client. It connects when there is something to send.
func New(o Options) *Client {
	if o.Network == "" {
		o.Network = "tcp"
	}
	if o.Size <= 0 {
		o.Size = 10 * runtime.GOMAXPROCS(0)
	}
	return &Client{opt: o, slot: Slot(o.Key), pools: map[string]*pool{}}
}

// Clustered reports whether the client is one of a cluster.
func (c *Client) Clustered() bool { return c.opt.Key != "" }

// Do sends a command and returns its answer: a string, an int64, a list ([]any), or nil.
// The error is an [Error] if it is the server's answer.
func (c *Client) Do(ctx context.Context, args ...any) (any, error) {
	replies, err := c.Pipeline(ctx, args)
	if err != nil {
		return nil, err
	}
	if e, ok := replies[0].(Error); ok {
		return nil, e
	}
	return replies[0], nil
}

// Pipeline sends commands at once, on one connection, and returns their answers. What the
// server refuses is an [Error] in its place. In a cluster whose slot is moving, all of the
// commands may be sent again.
func (c *Client) Pipeline(ctx context.Context, commands ...Command) ([]any, error) {
	if c.Clustered() {
		return c.follow(ctx, commands)
	}
	return c.ask(ctx, c.opt.Addr, commands)
}

// ask sends commands to the server at an address.
func (c *Client) ask(ctx context.Context, addr string, commands []Command) ([]any, error) {
	for {
		p, err := c.pool(addr)
		if err != nil {
			return nil, err
		}
		conn, err := p.get(ctx)
		if errors.Is(err, ErrClosed) {
			continue // the pool was retired, or the client closed: then there is none
		}
		if err != nil {
			return nil, err
		}
		defer p.put(conn)
		return conn.exchange(ctx, commands)
	}
}

// maxServers is how many servers have pools: the owner of the slot, and those that it is
// moving to.
const maxServers = 4

func (c *Client) pool(addr string) (*pool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	p := c.pools[addr]
	if p == nil {
		if len(c.pools) >= maxServers {
			c.keepOnly(c.owner)
		}
		p = newPool(addr, c.opt.Size, c.opt.Timeout+time.Second, c.ready)
		c.pools[addr] = p
	}
	return p, nil
}

// ready makes a connection that may be used.
func (c *Client) ready(ctx context.Context, addr string) (*Conn, error) {
	conn, err := c.greeted(ctx, addr)
	if err != nil || c.opt.Admit == nil {
		return conn, err
	}
	if err := c.opt.Admit(ctx, conn); err != nil {
		conn.close()
		return nil, err
	}
	if conn.broken {
		conn.close()
		return nil, protocol("it says more than it was asked")
	}
	return conn, nil
}

// greeted makes a connection that was not looked at.
func (c *Client) greeted(ctx context.Context, addr string) (*Conn, error) {
	network := "tcp"
	if addr == c.opt.Addr {
		network = c.opt.Network
	}
	conn, err := c.opt.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if err := conn.greet(ctx, &c.opt); err != nil {
		conn.close()
		return nil, err
	}
	return conn, nil
}

// keepOnly closes the connections to other servers. The caller has the lock.
func (c *Client) keepOnly(addr string) {
	for other, p := range c.pools {
		if other != addr {
			delete(c.pools, other)
			p.retire()
		}
	}
}

// Close closes all connections. What is under way fails.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	pools := c.pools
	c.pools = nil
	c.mu.Unlock()
	for _, p := range pools {
		p.close()
	}
	return nil
}
