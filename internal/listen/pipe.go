package listen

import (
	"context"
	"net"
	"sync"
)

// Pipe is a listener inside of this program, which no other one can reach.
type Pipe struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

// NewPipe returns a listener that is open until Close.
func NewPipe() *Pipe { return &Pipe{conns: make(chan net.Conn), done: make(chan struct{})} }

// Dial connects once the other end accepts. It serves as the DialContext of a transport,
// and asks for neither a network nor an address.
func (p *Pipe) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
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

// Close implements [net.Listener]. Closing twice does nothing.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements [net.Listener]. It is no address.
func (p *Pipe) Addr() net.Addr { return &net.UnixAddr{Name: "inside", Net: "pipe"} }
