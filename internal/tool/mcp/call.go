package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// runningCall is a call that a server is working on.
type runningCall struct {
	call  *tool.Call
	ctx   context.Context // ends with the call
	clock *callTimer
	news  chan string // progress messages from the server

	number int // of this call among the calls of the connection; guarded by the connection's mutex

	sent      atomic.Bool // over HTTP
	forgotten atomic.Bool // the server did not know the session of the request

	mu    sync.Mutex
	asked int // number of questions so far
}

// runningCallKey is the key of a call in the context of its requests.
type runningCallKey struct{}

func newRunningCall(call *tool.Call) *runningCall {
	return &runningCall{call: call, news: make(chan string, 16)}
}

// maxCallQuestions is the maximum number of questions of a server in one call.
const maxCallQuestions = 10

// errTimeout is the cause if a call takes too long.
var errTimeout = errors.New("timeout")

// callGrace is how long a cancelled call may continue after the server was notified.
const callGrace = time.Second

// call calls a tool and waits for its result, until the server's timeout, the end of ctx or the end of the
// connection. sessionLost is true if the server did not know the session and therefore did not process the
// call.
func (n *conn) call(ctx context.Context, t *remoteTool, call *tool.Call, input json.RawMessage) (r tool.Result, sessionLost bool) {
	before := n.process.refusals()
	running := newRunningCall(call)
	result, err := n.runRequest(ctx, running, func(ctx context.Context, token string) (*sdk.CallToolResult, error) {
		p := &sdk.CallToolParams{Name: t.name, Arguments: input}
		p.SetProgressToken(token)
		return n.session.CallTool(ctx, p)
	})
	n.awaitList(ctx)
	if err != nil {
		sessionLost = ctx.Err() == nil && (running.forgotten.Load() || n.server.URL != "" && !running.sent.Load() && isConnectionEnd(err))
		return n.failureResult(ctx, "the call of "+t.name, err), sessionLost
	}
	r = resultOf(result)
	if note := refusedSince(before, n.process); r.IsError && note != "" {
		r.Content = append(r.Content, transcript.Text{Text: note})
	}
	return r, false
}

// refusals returns how many accesses the server's sandbox has refused so far, by the setting that
// would allow them.
func (p *process) refusals() map[string]int {
	if p == nil || p.refused == nil {
		return nil
	}
	return p.refused()
}

// refusedSince returns which accesses the server's sandbox has refused since before, and which
// settings allow them. It is needed because a server that keeps running does not report them.
func refusedSince(before map[string]int, p *process) string {
	var names []string
	for name, n := range p.refusals() {
		if n > before[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "[the sandbox refused system calls of this server during the call, which may be the cause; sandbox settings can allow them: " + strings.Join(names, ", ") + "]"
}

// runRequest runs one request of a call. If the call is cancelled, the server is notified. If the server
// requires that the user opens a URL first, the request is sent again after the user has opened it.
func (n *conn) runRequest(ctx context.Context, r *runningCall, do func(context.Context, string) (*sdk.CallToolResult, error)) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(n.ctx, func() { cancel(sdk.ErrConnectionClosed) })()
	r.ctx = context.WithValue(ctx, runningCallKey{}, r)
	limit := n.server.callTimeout()
	r.clock = newCallTimer(limit, func() { cancel(fmt.Errorf("%w after %s", errTimeout, limit)) })
	defer r.clock.stop()
	token := n.begin(r)
	defer n.finish(token)

	type answer struct {
		result *sdk.CallToolResult
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		result, err := do(r.ctx, token)
		if n.askToOpenURL(r.ctx, r, err) {
			result, err = do(r.ctx, token)
		}
		answers <- answer{result, err}
	}()
	show := func(text string) {
		if r.call.Output != nil {
			_, _ = io.WriteString(r.call.Output, text)
		}
	}
	var grace <-chan time.Time
	ended := ctx.Done()
	for {
		select {
		case a := <-answers:
			for len(r.news) > 0 { // sent before the result
				show(<-r.news)
			}
			switch {
			case a.err != nil && r.forgotten.Load(): // the server has lost the session; this takes precedence over its other errors
				a.err = sdk.ErrSessionMissing
				n.l.onDisconnect(n, a.err)
			case a.err != nil && ctx.Err() != nil:
				a.err = context.Cause(ctx)
			}
			return a.result, a.err
		case text := <-r.news:
			show(text)
		case <-ended:
			ended = nil
			t := time.NewTimer(callGrace)
			defer t.Stop()
			grace = t.C
		case <-grace: // the server does not accept even the cancellation
			n.l.onDisconnect(n, errors.New("the server does not read its input"))
			return nil, context.Cause(ctx)
		}
	}
}

// failureResult returns the result of a call without a response. It closes a failed connection, so that the next
// use reconnects.
func (n *conn) failureResult(ctx context.Context, what string, err error) tool.Result {
	server := fmt.Sprintf("MCP server %q: %s ", n.server.Name, what)
	switch {
	case errors.Is(err, errTimeout):
		return tool.Failure(server + "was cancelled: " + err.Error() + "; it may have had an effect")
	case ctx.Err() != nil:
		return tool.Failure(server + "was cancelled; it may have had an effect")
	case errors.Is(err, ErrNeedsAuth):
		n.l.onDisconnect(n, ErrNeedsAuth)
		return failure(&Error{Server: n.server.Name, Detail: "needs authorisation", hint: "holdfast mcp login " + n.server.Name})
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return tool.Failure(server + "failed: " + truncate.String(shown(wire.Message), 4000))
	}
	if n.ctx.Err() == nil && !isConnectionEnd(err) {
		return tool.Failure(server + "failed: " + truncate.String(shown(err.Error()), 4000) + "; it may have had an effect")
	}
	n.l.onDisconnect(n, err)
	n.l.mu.Lock()
	why := n.l.err
	n.l.mu.Unlock()
	text := server + "has no result: the connection to the server was lost, and the call may have had an effect. The next call reconnects"
	if why != nil && !errors.Is(why, errClosed) {
		text += "\n" + shown(why.Error())
	}
	return tool.Failure(text)
}

// isConnectionEnd reports whether an error means that the connection has ended.
func isConnectionEnd(err error) bool {
	for _, end := range []error{sdk.ErrConnectionClosed, sdk.ErrSessionMissing, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE, errTooLong} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// callTimer limits the time of a call. The timeout is paused while the user is asked.
type callTimer struct {
	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration
	since  time.Time
	pauses int
	over   bool
}

func newCallTimer(limit time.Duration, end func()) *callTimer {
	return &callTimer{timer: time.AfterFunc(limit, end), left: limit, since: time.Now()}
}

// pause stops the timer until the returned function is called.
func (c *callTimer) pause() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses++; c.pauses == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pauses--; c.pauses == 0 && !c.over {
			c.since = time.Now()
			c.timer.Reset(max(c.left, 0))
		}
	}
}

func (c *callTimer) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.timer.Stop()
}
