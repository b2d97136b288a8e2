package daemon

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
)

// limits are the maximum resources of WebSocket clients.
type limits struct {
	connections int           // maximum number of open connections
	anonymous   int           // connections that have not sent a hello yet
	subs        int           // subscriptions of one connection
	pending     int           // unanswered requests of one connection
	message     int64         // maximum size of a message, in bytes
	rate, burst float64       // limits of the messages of one connection: per second, and at once
	excess      float64       // how many messages above the rate close the connection
	hello       time.Duration // time within which a client without a credential must send a hello
	ping        time.Duration // time between pings
	pong        time.Duration // a client that does not answer a ping for this time is disconnected
	slow        time.Duration // a connection ends after a frame that took longer
	stuck       time.Duration // a connection is cut off in a frame that takes longer
	request     time.Duration // time limit of a request
}

// defaultLimits returns the limits in docs/reference/websocket.md.
func defaultLimits() limits {
	return limits{
		connections: 4096, anonymous: 64, subs: 256, pending: 256, message: 1 << 20,
		rate: 50, burst: 200, excess: 100,
		hello: 5 * time.Second, ping: 30 * time.Second, pong: 15 * time.Second,
		slow: 10 * time.Second, stuck: 20 * time.Second, request: time.Minute,
	}
}

// unauthenticatedMessageSize is the maximum size of a message before a hello, in bytes.
const unauthenticatedMessageSize = 8 << 10

// sockets serves the WebSocket and tracks its connections.
type sockets struct {
	o      *Options
	limits limits
	frames frameCache
	starts startNotifier

	draining atomic.Bool // no new run is started

	mu      sync.Mutex
	open    map[*socket]struct{}
	unknown int                             // number of open connections without a caller
	revoked map[<-chan struct{}]*credential // key: the channel that is closed when a credential ends; value: the connections with that credential
	closing bool
	running sync.WaitGroup // readers of sockets, and watchers of credentials
}

func newSockets(o *Options) *sockets {
	s := &sockets{
		o: o, limits: defaultLimits(),
		open: map[*socket]struct{}{}, revoked: map[<-chan struct{}]*credential{},
	}
	if o.Sockets > 0 {
		s.limits.connections = o.Sockets
	}
	return s
}

// count returns the number of open connections.
func (s *sockets) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// ServeHTTP accepts a client that is already authenticated, or that must authenticate with a hello
// message.
func (s *sockets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		Refuse(w, r, http.StatusBadRequest, "usage", "this route is a WebSocket", "send an upgrade request: docs/reference/websocket.md")
		return
	}
	caller, known := auth.CallerFrom(r.Context())
	if known && !caller.HasScope(api.ScopeRead) {
		Refuse(w, r, http.StatusForbidden, "denied", "the credential lacks the scope read", "create a token with the scope read")
		return
	}
	c := newSocket(s, caller, known)
	if why := s.admit(c); why != "" {
		w.Header().Set("Retry-After", "5")
		Refuse(w, r, http.StatusServiceUnavailable, "limit", why, "try again later")
		return
	}
	if !known {
		c.request = r
	}
	// Package auth, which knows what is allowed, has checked Host and Origin.
	ws, err := websocket.Accept(&hijacked{w, c}, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled,
		OnPingReceived: func(context.Context, []byte) bool { return c.allowControl() },
		OnPongReceived: func(context.Context, []byte) { c.allowControl() },
	})
	if err != nil {
		s.remove(c)
		return
	}
	c.begin(ws)
	go c.serve() // this runs in a goroutine so that the request and its buffers can be freed
}

// admit counts a new connection. If the connection is not accepted, it returns the reason.
func (s *sockets) admit(c *socket) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return "the daemon is shutting down"
	case len(s.open) >= s.limits.connections:
		return "too many open connections"
	case !c.known && s.unknown >= s.limits.anonymous:
		return "too many unauthenticated connections"
	}
	s.open[c] = struct{}{}
	s.running.Add(1)
	if c.known {
		s.watch(c)
	} else {
		s.unknown++
	}
	return ""
}

// setCaller sets the caller of a connection that had none when it was accepted.
func (s *sockets) setCaller(c *socket, caller auth.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown--
	c.caller, c.known = caller, true
	s.watch(c)
}

// remove removes a connection that has ended.
func (s *sockets) remove(c *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	if !c.known {
		s.unknown--
	}
	if k := c.credential; k != nil {
		if k.used--; k.used == 0 {
			close(k.unused)
			delete(s.revoked, k.revoked)
		}
	}
	s.running.Done()
}

// shutdown closes all connections with code 1001 and waits until they have ended. When ctx ends, it
// cuts off the remaining connections.
func (s *sockets) shutdown(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	for c := range s.open {
		c.end(websocket.StatusGoingAway, "the daemon is shutting down")
	}
	s.mu.Unlock()
	all := make(chan struct{})
	go func() {
		defer close(all)
		s.running.Wait()
	}()
	select {
	case <-all:
		return
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.open {
		c.cut()
	}
	s.mu.Unlock()
	<-all
}

// credential is a credential of connections, while at least one uses it.
type credential struct {
	revoked <-chan struct{}
	used    int
	unused  chan struct{}
}

// watch closes a connection when its credential ends. s.mu must be held.
func (s *sockets) watch(c *socket) {
	revoked := s.o.Auth.Revoked(c.caller)
	if revoked == nil {
		return
	}
	k := s.revoked[revoked]
	if k == nil {
		k = &credential{revoked: revoked, unused: make(chan struct{})}
		s.revoked[revoked] = k
		s.running.Go(func() {
			select {
			case <-k.unused:
			case <-k.revoked:
				s.closeCredential(k)
			}
		})
	}
	k.used++
	c.credential = k
}

func (s *sockets) closeCredential(k *credential) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		if c.credential == k {
			c.end(websocket.StatusPolicyViolation, "the credential was revoked or has expired")
		}
	}
}

// hijacked stores the connection that a WebSocket takes over.
type hijacked struct {
	http.ResponseWriter
	c *socket
}

// Hijack implements [http.Hijacker].
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.conn = newRateLimited(conn)
	return h.c.conn, rw, nil
}
