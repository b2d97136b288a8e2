package listen

import (
	"context"
	"net"
	"sync"
)

// Pipe is a listener that only this process can reach.
type Pipe struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

// NewPipe returns a listener that stays open until Close.
func NewPipe() *Pipe { return &Pipe{conns: make(chan net.Conn), done: make(chan struct{})} }

// Dial returns a connection when the other end has accepted it. It can be the DialContext of a
// transport, and ignores the network and the address.
func (p *Pipe) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	local, remote := net.Pipe()
	select {
	case p.conns <- remote:
		return local, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Accept implements [net.Listener].
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. Calling it twice has no effect.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements [net.Listener]. The address is a placeholder.
func (p *Pipe) Addr() net.Addr { return &net.UnixAddr{Name: "inside", Net: "pipe"} }
