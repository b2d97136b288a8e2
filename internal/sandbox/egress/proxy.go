package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// Options adjusts [New].
type Options struct {
	// Ask decides about a host that no list names, if a layer requires approval for such hosts. If
	// the name is known to resolve to a private address, that is the parameter address, and the
	// answer covers it too; otherwise address is "". Ask is called once per session, host, port and
	// address. After an error or a timeout, the connection is refused. Nil: refuse.
	Ask func(ctx context.Context, host string, port int, address string) (bool, error)
	// KnownHosts are names in the user's own configuration. They may be looked up before they are
	// allowed, because a command did not choose them. Nil: none.
	KnownHosts func() []string
	// Log receives each refusal, and each name under a wildcard. Nil: nothing is logged.
	Log *slog.Logger

	// HTTPUpstream and SOCKSUpstream are ports on 127.0.0.1 of the user's own proxies, which
	// receive the allowed connections. Connections made over HTTP use the first, those made over
	// SOCKS the second; if only one is set, it receives all connections. 0: none.
	HTTPUpstream  int
	SOCKSUpstream int

	// Resolve returns the addresses of a name. Default: the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to a checked address, or to an upstream. Default: [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	Limits Limits
}

// Limits restrict what a command can make the proxy do. If a field is zero, its default applies.
type Limits struct {
	Connections    int           // maximum number of concurrent connections of one session; further connections wait; default 256
	NamesPerMinute int           // maximum number of different names under wildcards, in all sessions; default 120
	HeaderTime     time.Duration // time to receive a request's header, or the first bytes of a tunnel; default 15 s
	IdleTime       time.Duration // maximum time between two requests; default 2 min
	TunnelTime     time.Duration // without data in a tunnel; default 1 h
	ConnectTime    time.Duration // time to look a name up and connect; default 30 s
	AskTime        time.Duration // for the approver's answer; default 5 min
}

// Proxy connects commands to hosts that the rules allow. It is safe for concurrent use.
type Proxy struct {
	rules  *Rules
	o      Options
	names  wildcardNames
	blocks bufferPool
	hosts  func(ctx context.Context, host string) ([]netip.Addr, error) // /etc/hosts; nil: none
}

// New creates a proxy that enforces rules. It needs no Close, because all its work ends when Serve
// returns.
func New(rules *Rules, o *Options) (*Proxy, error) {
	if rules == nil {
		return nil, errors.New("egress: no rules")
	}
	p := &Proxy{rules: rules}
	if o != nil {
		p.o = *o
	}
	for _, port := range []int{p.o.HTTPUpstream, p.o.SOCKSUpstream} {
		if port < 0 || port > 65535 {
			return nil, fmt.Errorf("egress: %d is not a valid proxy port", port)
		}
	}
	if p.o.Log == nil {
		p.o.Log = slog.New(slog.DiscardHandler)
	}
	if p.o.Dial == nil {
		p.o.Dial = (&net.Dialer{}).DialContext
	}
	if p.o.Resolve == nil {
		p.o.Resolve, p.hosts = newLookups(lookup).resolve, lookupHostsFile
	}
	p.o.Limits = p.o.Limits.withDefaults()
	p.names.limit = p.o.Limits.NamesPerMinute
	return p, nil
}

func (l Limits) withDefaults() Limits {
	number := func(n *int, standard int) {
		if *n <= 0 {
			*n = standard
		}
	}
	duration := func(d *time.Duration, standard time.Duration) {
		if *d <= 0 {
			*d = standard
		}
	}
	number(&l.Connections, 256)
	number(&l.NamesPerMinute, 120)
	duration(&l.HeaderTime, 15*time.Second)
	duration(&l.IdleTime, 2*time.Minute)
	duration(&l.TunnelTime, time.Hour)
	duration(&l.ConnectTime, 30*time.Second)
	duration(&l.AskTime, 5*time.Minute)
	return l
}

// Serve serves the connections of a listener, for one command, until ctx ends or the listener is
// closed. Without a session, nothing is recorded. Serve closes the listener and every connection, and
// waits for all goroutines that it started. A nil error means that it was stopped.
func (p *Proxy) Serve(ctx context.Context, l net.Listener, s *Session) error {
	if s == nil {
		s = &Session{}
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	free := make(chan struct{}, p.o.Limits.Connections)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := accept(ctx, l)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("accept for the sandbox: %w", err)
		}
		limitSending(conn)
		work.Go(func() {
			defer func() { <-free }()
			c := &client{bufferedConn: newBufferedConn(conn), p: p, s: s, serving: ctx, start: work.Go}
			c.serve(ctx)
		})
	}
}

// accept waits for a connection. If no file descriptors are available, it keeps waiting.
func accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	for {
		conn, err := l.Accept()
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			return conn, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// bufferSize is the maximum size of the header of a request or a response.
const bufferSize = 32 << 10

// bufferedConn is one end of a connection, with the bytes already read from it.
type bufferedConn struct {
	net.Conn
	r        *bufio.Reader
	stop     func() bool // a function that stops the connection from being closed together with the client
	absolute bool        // true if the connection leads to an upstream that needs absolute URLs
}

// Close closes the connection.
func (e *bufferedConn) Close() error {
	if e.stop != nil {
		e.stop()
	}
	return e.Conn.Close()
}

func newBufferedConn(c net.Conn) *bufferedConn {
	return &bufferedConn{Conn: c, r: bufio.NewReaderSize(c, bufferSize)}
}

// client is a connection from the command.
type client struct {
	*bufferedConn
	p       *Proxy
	s       *Session
	ctx     context.Context // ends with the connection
	serving context.Context // ends with Serve
	start   func(func())    // a function that starts a goroutine; Serve waits for that goroutine
	socks   bool

	up             *bufferedConn // the connection of the last request, if it can be used for the next one
	upstreamTarget target
}

// serve detects the protocol by the first byte.
func (c *client) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.ctx = ctx
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	defer c.Close()
	defer c.dropUpstream()
	c.readWithin(c.p.o.Limits.HeaderTime)
	first, err := c.r.Peek(1)
	if err != nil {
		return
	}
	switch first[0] {
	case 5:
		c.serveSOCKS()
	case 4:
		// SOCKS4 has no names; the proxy only answers "rejected".
		_, _ = c.Write([]byte{0, 0x5b, 0, 0, 0, 0, 0, 0})
	case tlsHandshake:
		// TLS to the proxy itself: an alert, so that the client does not wait.
		_, _ = c.Write(alertAccessDenied)
	default:
		c.serveHTTP(nil)
	}
}

// readWithin sets a deadline for the next reads.
func (e *bufferedConn) readWithin(d time.Duration) { _ = e.SetReadDeadline(time.Now().Add(d)) }

// clearReadDeadline removes the deadline.
func (e *bufferedConn) clearReadDeadline() { _ = e.SetReadDeadline(time.Time{}) }
