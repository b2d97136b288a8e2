package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"runtime"
	"sync"
	"time"
)

// Options configures a client.
type Options struct {
	Network  string // "tcp" or "unix"; "" means "tcp"
	Addr     string // host:port, or the path of a socket
	User     string
	Password string
	Database int
	TLS      *tls.Config // nil: no TLS
	// Key selects the slot of a client of a cluster; "" means no cluster.
	Key string
	// Dial is the time limit for connecting. Timeout is the time limit for sending, and again for
	// reading the reply. 0 means no limit.
	Dial, Timeout time.Duration
	// Size is the maximum number of connections in use; 0 means 10 for each processor. A caller
	// waits for a free connection for Timeout plus one second.
	Size int
	// Admit checks each new connection before it is used, and may reject it.
	Admit func(context.Context, *Conn) error
}

// Client holds connections to one server, or in a cluster to the server that owns a slot. It is
// safe for concurrent use. The caller closes it.
type Client struct {
	opt  Options
	slot int

	mu     sync.Mutex
	closed bool
	pools  map[string]*pool
	owner  string   // in a cluster, the owner of the slot; "" if unknown
	known  []string // in a cluster, the addresses of its servers
	lost   string   // in a cluster, the previous owner, which is asked after all other servers
}

// New returns a client. The client connects on first use.
func New(o Options) *Client {
	if o.Network == "" {
		o.Network = "tcp"
	}
	if o.Size <= 0 {
		o.Size = 10 * runtime.GOMAXPROCS(0)
	}
	return &Client{opt: o, slot: Slot(o.Key), pools: map[string]*pool{}}
}

// Clustered reports whether the client is a client of a cluster.
func (c *Client) Clustered() bool { return c.opt.Key != "" }

// Do sends a command and returns its reply: a string, an int64, a list ([]any), or nil. The error is an [Error] if
// the server returned it.
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

// Pipeline sends commands together, on one connection, and returns their replies. If the server
// returns an error for a command, the reply is an [Error]. In a cluster whose slot is moving, all
// commands may be sent again.
func (c *Client) Pipeline(ctx context.Context, commands ...Command) ([]any, error) {
	if c.Clustered() {
		return c.sendToOwner(ctx, commands)
	}
	return c.sendTo(ctx, c.opt.Addr, commands)
}

// sendTo sends commands to the server at an address.
func (c *Client) sendTo(ctx context.Context, addr string, commands []Command) ([]any, error) {
	for {
		p, err := c.pool(addr)
		if err != nil {
			return nil, err
		}
		conn, err := p.get(ctx)
		if errors.Is(err, ErrClosed) {
			continue // the pool was retired or the client was closed: there is no connection in that case
		}
		if err != nil {
			return nil, err
		}
		defer p.put(conn)
		return conn.exchange(ctx, commands)
	}
}

// maxServers is the maximum number of servers with pools: the owner of the slot, and the servers to
// which the slot is moving.
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
		p = newPool(addr, c.opt.Size, c.opt.Timeout+time.Second, c.openChecked)
		c.pools[addr] = p
	}
	return p, nil
}

// openChecked opens a connection and checks it.
func (c *Client) openChecked(ctx context.Context, addr string) (*Conn, error) {
	conn, err := c.open(ctx, addr)
	if err != nil || c.opt.Admit == nil {
		return conn, err
	}
	if err := c.opt.Admit(ctx, conn); err != nil {
		conn.close()
		return nil, err
	}
	if conn.broken {
		conn.close()
		return nil, protocolErrorf("unexpected data after the reply")
	}
	return conn, nil
}

// open opens a connection without a check.
func (c *Client) open(ctx context.Context, addr string) (*Conn, error) {
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

// keepOnly closes the connections to all servers except the one at addr. The caller holds the lock.
func (c *Client) keepOnly(addr string) {
	for other, p := range c.pools {
		if other != addr {
			delete(c.pools, other)
			p.closeIdle()
		}
	}
}

// Close closes all connections. Running calls fail.
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
