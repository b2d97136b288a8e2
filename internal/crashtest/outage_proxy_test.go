//go:build linux

package crashtest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// fault is a fault of the connections to a store.
type fault string

const (
	none     fault = ""
	refuse   fault = "refuse"    // the server is down: connections are closed, and none is accepted
	hang     fault = "hang"      // the network is cut: nothing passes, and hanging connections are closed when it is back
	halfOpen fault = "half-open" // the server disappeared without closing connections: open and new ones stay dead
	// A connection that is reset in the middle of a request, or of an answer: now and then.
	resetRequest fault = "reset-request"
	resetAnswer  fault = "reset-answer"
	// The server takes the start of a tool, and is down before it answers.
	loseStart fault = "lose-start"
)

// away reports whether nothing at all can be done while it lasts.
func (f fault) away() bool { return slices.Contains([]fault{refuse, hang, halfOpen}, f) }

// proxy stands before a server.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	fault fault
	pipes map[*pipe]bool
}

// pipe is one connection through a proxy.
type pipe struct {
	client, server net.Conn
	dead           bool // half-open, for good
	lost           bool // its next answer
}

func newProxy(t *testing.T, store string) (p *proxy, through string) {
	t.Helper()
	u, err := url.Parse(store)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p = &proxy{listener: l, to: u.Host, pipes: map[*pipe]bool{}}
	if u.Scheme == "s3" {
		q := u.Query()
		end, err := url.Parse(q.Get("endpoint"))
		if err != nil {
			t.Fatal(err)
		}
		p.to, end.Host = end.Host, l.Addr().String()
		q.Set("endpoint", end.String())
		u.RawQuery = q.Encode()
	} else {
		u.Host = l.Addr().String()
	}
	go p.serve()
	t.Cleanup(func() {
		_ = l.Close()
		p.set(refuse)
	})
	return p, u.String()
}

// set begins a fault, or ends it.
func (p *proxy) set(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	for c := range p.pipes {
		switch {
		case f == halfOpen:
			c.dead = true
		case f == refuse || f == none && !c.dead: // what hung is cut when the server is back
			c.close()
		}
	}
}

func (c *pipe) close() { _, _ = c.client.Close(), c.server.Close() }

// reset ends a connection at once, with what is under way.
func (c *pipe) reset() {
	for _, conn := range []net.Conn{c.client, c.server} {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	c.close()
}

func (p *proxy) is(c *pipe) (f fault, dead, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault, c != nil && c.dead, c != nil && c.lost
}

// lose marks a connection whose next answer is lost.
func (p *proxy) lose(c *pipe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.lost = true
}

func (p *proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		if f, _, _ := p.is(nil); f == refuse {
			_ = c.Close()
			continue
		}
		go p.pass(c)
	}
}

func (p *proxy) pass(client net.Conn) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.to)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &pipe{client: client, server: server}
	p.mu.Lock()
	c.dead = p.fault == halfOpen
	p.pipes[c] = true
	p.mu.Unlock()
	defer func() {
		c.close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.pipes, c)
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.copy(c, server, client, resetRequest)
	}()
	p.copy(c, client, server, resetAnswer)
	<-done
}

// copy forwards data. Data sent into a hanging network never arrives. Of data sent when a
// connection is reset, half arrives.
func (p *proxy) copy(c *pipe, to, from net.Conn, reset fault) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		f, dead, lost := p.is(c)
		switch {
		case err != nil && dead: // nobody hears of it
			return
		case err != nil:
			c.close()
			return
		case dead || f == hang:
			continue
		case lost && reset == resetAnswer: // it is done, and nobody hears of it
			p.set(refuse)
			return
		case f == loseStart && reset == resetRequest && bytes.Contains(b[:n], []byte("tool.started")):
			p.lose(c)
		case f == reset && rand.IntN(12) == 0:
			_, _ = to.Write(b[:n/2])
			c.reset()
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			c.close()
			return
		}
	}
}
