package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
)

// socket is one client. One goroutine reads. Requests and subscriptions run in other goroutines.
// They write whole frames, one at a time.
type socket struct {
	s          *sockets
	ws         *websocket.Conn
	conn       net.Conn      // the connection below ws
	request    *http.Request // upgrade request, until the caller is known
	caller     auth.Caller   // set before the first request is served
	known      bool
	credential *credential
	rate       bucket // limits what the client sends
	excess     bucket // limits what the client sends above the rate

	ctx    context.Context // until the connection ends
	cancel context.CancelFunc
	pinger *time.Timer
	hello  *time.Timer

	lowPriority sync.Mutex // subscriptions lock this first, so that a reply waits for one of their frames and not for all of them
	writing     sync.Mutex
	stuckTimer  *time.Timer // cuts off the connection if a frame takes too long

	mu    sync.Mutex
	ended bool
	jobs  sync.WaitGroup
	busy  int                 // number of unanswered requests
	lanes map[string][]func() // requests that wait for another in the same lane
	subs  map[string]*subscription
}

func newSocket(s *sockets, caller auth.Caller, known bool) *socket {
	c := &socket{
		s: s, caller: caller, known: known,
		rate:   bucket{rate: s.limits.rate, burst: s.limits.burst},
		excess: bucket{rate: 1, burst: s.limits.excess},
	}
	c.ctx, c.cancel = context.WithCancel(retry.Within(context.Background(), storeTimeout))
	return c
}

// begin starts to use the WebSocket.
func (c *socket) begin(ws *websocket.Conn) {
	ws.SetReadLimit(-1) // serve checks the size, so that it can reply before it closes the connection
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ws = ws
	c.stuckTimer = time.AfterFunc(time.Hour, c.cut)
	c.stuckTimer.Stop()
	c.pinger = time.AfterFunc(c.s.limits.ping, func() { c.spawn(c.ping) })
	if !c.known {
		c.hello = time.AfterFunc(c.s.limits.hello, func() {
			c.end(websocket.StatusPolicyViolation, "no hello arrived in time")
		})
	}
	if c.ended { // meanwhile
		c.spawnLocked(func() { c.close(websocket.StatusGoingAway, "the daemon is shutting down") })
	}
}

// serve reads messages until the connection ends. Then it ends everything that runs for the
// connection.
func (c *socket) serve() {
	defer c.s.remove(c)
	defer c.finish()
	defer c.recover(c.close)
	for {
		kind, r, err := c.ws.Reader(context.Background())
		if err != nil {
			return
		}
		limit := c.s.limits.message
		if !c.known {
			limit = unauthenticatedMessageSize
		}
		b, err := io.ReadAll(io.LimitReader(r, limit+1))
		switch {
		case err != nil:
			return
		case int64(len(b)) > limit:
			c.reply(&wire.Error{Code: wire.CodeTooLarge, Message: fmt.Sprintf("a message may have at most %d bytes", limit)})
			c.close(websocket.StatusMessageTooBig, "the message is too long")
			return
		case kind != websocket.MessageText:
			c.reply(&wire.Error{Code: wire.CodeParse, Message: "a message must be a text frame with one JSON object"})
			c.close(websocket.StatusUnsupportedData, "text frames only")
			return
		}
		if !c.receive(b) {
			return
		}
	}
}

// finish ends the work for the connection and waits for it.
func (c *socket) finish() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.cancel()
	c.cut()
	c.pinger.Stop()
	if c.hello != nil {
		c.hello.Stop()
	}
	c.jobs.Wait()
	c.stuckTimer.Stop()
}

// recover ends a connection after a panic in one of its goroutines. Runs and other clients
// continue.
func (c *socket) recover(end func(websocket.StatusCode, string)) {
	if v := recover(); v != nil {
		c.s.o.Log.Error("a client's request panicked", "panic", v, "stack", string(debug.Stack()))
		end(websocket.StatusInternalError, "internal error")
	}
}

// spawn runs a job of this connection in a goroutine, unless the connection has ended.
func (c *socket) spawn(job func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.ended && c.spawnLocked(job)
}

func (c *socket) spawnLocked(job func()) bool {
	c.jobs.Go(func() {
		defer c.recover(c.end)
		job()
	})
	return true
}

// end closes the connection once. It may be called from any goroutine except the reader.
func (c *socket) end(code websocket.StatusCode, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	if c.ws != nil { // nil: begin closes it
		c.spawnLocked(func() { c.close(code, reason) })
	}
}

// close sends a close frame, and waits a few seconds for the close frame of the client.
func (c *socket) close(code websocket.StatusCode, reason string) {
	c.cancel()
	_ = c.ws.Close(code, reason) // the connection is closed even if Close returns an error
}

// cut closes the connection without a close frame.
func (c *socket) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_ = c.conn.Close() // the reader gets an error
	}
}

// allowControl counts a client's ping or pong like a message. It reports whether to answer a ping. If a
// client sends too many of them, the connection ends.
func (c *socket) allowControl() bool {
	now := c.s.o.Clock()
	if c.rate.take(1, now) {
		return true
	}
	if !c.excess.take(1, now) {
		c.cut()
	}
	return false
}

// ping checks whether the client is still there.
func (c *socket) ping() {
	ctx, stop := context.WithTimeout(c.ctx, c.s.limits.pong)
	defer stop()
	err := c.ws.Ping(ctx)
	if err != nil && c.writing.TryLock() { // otherwise a frame is being written, and the writing has its own time limit
		c.writing.Unlock()
		c.cut()
		return
	}
	c.pinger.Reset(c.s.limits.ping)
}

// reply writes a message. Its message has priority over those of waiting subscriptions.
func (c *socket) reply(m wire.Message) {
	frame := c.frame(m)
	c.writing.Lock()
	defer c.writing.Unlock()
	c.send(frame)
}

// frame encodes a message with the current time.
func (c *socket) frame(m wire.Message) []byte {
	m.Common().TS = wire.Time{Time: c.s.o.Clock()}
	return wire.Encode(m)
}

// writeFor writes a frame of a subscription, unless the subscription has ended.
func (c *socket) writeFor(sub *subscription, frame []byte) bool {
	c.lowPriority.Lock()
	defer c.lowPriority.Unlock()
	c.writing.Lock()
	defer c.writing.Unlock()
	return !sub.ended.Load() && c.send(frame)
}

// send writes a frame. c.writing must be held. A client that reads a frame too slowly is
// disconnected after that frame, and can continue from its last seq. A client that reads nothing is
// cut off.
func (c *socket) send(frame []byte) bool {
	began := time.Now()
	c.stuckTimer.Reset(c.s.limits.stuck)
	err := c.ws.Write(context.Background(), websocket.MessageText, frame)
	c.stuckTimer.Stop()
	if err != nil {
		return false
	}
	if time.Since(began) > c.s.limits.slow {
		c.end(websocket.StatusTryAgainLater, "too slow: subscribe again after the last seq")
		return false
	}
	return true
}
