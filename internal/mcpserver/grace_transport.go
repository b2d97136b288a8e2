package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// graceTransport is a transport whose input may end while calls are running. It reports the end of
// the input only after all calls are answered, because at the end the SDK cancels calls that are
// not.
type graceTransport struct {
	mcp.Transport
	grace time.Duration
}

// Connect implements [mcp.Transport].
func (p *graceTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &graceConn{Connection: c, grace: p.grace, open: map[jsonrpc.ID]bool{}, gone: make(chan struct{}), answered: make(chan struct{}, 1)}, nil
}

type graceConn struct {
	mcp.Connection
	grace    time.Duration
	close    sync.Once
	gone     chan struct{} // closed with the connection
	answered chan struct{} // signaled after each answer

	mu   sync.Mutex
	open map[jsonrpc.ID]bool // unanswered requests
}

// listenMethod is a request that is not answered until the client unsubscribes.
const listenMethod = "subscriptions/listen"

// Read implements [mcp.Connection].
func (c *graceConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.settle(ctx)
		return nil, err
	}
	if r, is := m.(*jsonrpc.Request); is && r.IsCall() && r.Method != listenMethod {
		c.mu.Lock()
		c.open[r.ID] = true
		c.mu.Unlock()
	}
	return m, nil
}

// Write implements [mcp.Connection].
func (c *graceConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, is := m.(*jsonrpc.Response); is {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.mu.Unlock()
		c.signal()
	}
	if err != nil { // the client no longer reads answers
		c.mu.Lock()
		clear(c.open)
		c.mu.Unlock()
		c.signal()
	}
	return err
}

func (c *graceConn) signal() {
	select {
	case c.answered <- struct{}{}:
	default:
	}
}

// Close implements [mcp.Connection].
func (c *graceConn) Close() error {
	c.close.Do(func() { close(c.gone) })
	return c.Connection.Close()
}

// settle waits until every request is answered, for a limited time.
func (c *graceConn) settle(ctx context.Context) {
	late := time.NewTimer(c.grace)
	defer late.Stop()
	for c.waiting() {
		select {
		case <-c.answered:
		case <-late.C:
			return
		case <-c.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c *graceConn) waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0
}
