package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// conn is one connection to a server.
type conn struct {
	l       *serverLink
	server  Server // with its variables expanded
	session *sdk.ClientSession
	process *process // the process of a stdio server; otherwise nil
	since   time.Time

	life   context.Context // ends with the attempt; if EndProcesses ended it, its cause wraps errEnded
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	ending sync.Once
	over   chan struct{} // closed when the connection and its goroutines have ended

	endKnown chan struct{} // closed when the reason for the end of the connection is known; nil while it is open; guarded by the link's mutex

	mu         sync.Mutex
	calls      map[string]*runningCall // by progress token
	last       *runningCall            // the call that started last among the running calls
	number     int                     // of the most recent call
	stale      bool                    // the server's list of tools has changed
	relisting  bool                    // the list is being requested in the background
	listing    chan struct{}           // closed when the changed list is in effect; nil if the current list is in effect
	messages   int                     // number of messages received in the second that started at rateWindow
	rateWindow time.Time
	asked      atomic.Int32 // open questions
}

// Limits for messages and questions of a server.
const (
	maxMessages      = 10_000 // maximum number of notifications and requests per second
	maxOpenQuestions = 8      // at the same time
)

// legacyVersion is used for servers that do not answer the newer protocol.
const legacyVersion = "2025-11-25"

// open connects. The connection ends when ctx ends or when end is called.
func (l *serverLink) open(ctx context.Context, s *Server) (*conn, error) {
	n := &conn{l: l, server: *s, life: ctx, since: time.Now(), calls: map[string]*runningCall{}, over: make(chan struct{})}
	n.ctx, n.cancel = context.WithCancel(ctx)
	transport, err := n.transport(s)
	if err != nil {
		n.cancel()
		return nil, err
	}
	opts := &sdk.ClientSessionOptions{}
	l.mu.Lock()
	if l.legacy {
		opts.ProtocolVersion = legacyVersion
	}
	l.mu.Unlock()
	limit := s.startTimeout()
	var late atomic.Bool
	timer := time.AfterFunc(limit, func() {
		late.Store(true)
		n.cancel()
	})
	n.session, err = n.connect(transport, opts)
	timer.Stop()
	if err == nil {
		return n, nil
	}
	if late.Load() {
		err = fmt.Errorf("no answer within %s", limit)
		l.mu.Lock()
		l.legacy = !l.legacy
		l.mu.Unlock()
	}
	n.cancel()
	switch {
	case errors.Is(err, ErrNeedsAuth):
		return n, &Error{Server: s.Name, Origin: s.Origin, Detail: "needs authorisation", Err: ErrNeedsAuth, hint: "holdfast mcp login " + s.Name}
	case n.process != nil:
		if status := n.process.exitText(); status != stillRuns && !late.Load() {
			err = fmt.Errorf("the server exited (%s)", status)
		}
	}
	l.mu.Lock()
	l.stderrTail = n.process.stderrText()
	l.mu.Unlock()
	failed := l.server.wrapError("connecting failed", withStderr(err, n.process))
	switch {
	case n.process != nil && s.StartHint != "":
		failed.hint = s.StartHint
	case late.Load() && n.process != nil && l.c.o.Sandbox != nil:
		failed.hint = sandboxHint
	}
	return n, failed
}

// sandboxHint is the hint for a program that has never answered.
const sandboxHint = "the server runs in the sandbox: a program that downloads itself at start, such as npx or uvx, cannot reach its registry unless sandbox.network.allowedDomains contains it; download it once with holdfast mcp fetch, or install it"

// connect initializes the session. It does not wait for a transport that does not stop when the
// context ends.
func (n *conn) connect(t sdk.Transport, o *sdk.ClientSessionOptions) (*sdk.ClientSession, error) {
	type greeted struct {
		session *sdk.ClientSession
		err     error
	}
	result := make(chan greeted, 1)
	go func() {
		session, err := n.client().Connect(n.ctx, t, o)
		result <- greeted{session, err}
	}()
	select {
	case r := <-result:
		return r.session, r.err
	case <-n.ctx.Done():
	}
	patience := time.NewTimer(closeTime)
	defer patience.Stop()
	select {
	case r := <-result:
		return r.session, r.err
	case <-patience.C:
		return nil, context.Cause(n.ctx)
	}
}

// transport returns the transport of a server.
func (n *conn) transport(s *Server) (t sdk.Transport, err error) {
	switch s.kind() {
	case InProcess:
		t, err = s.Connect(n.ctx)
		if err == nil && t == nil {
			err = errors.New("no transport")
		}
	case Stdio:
		t, n.process, err = n.l.c.stdio(n.ctx, s)
	default:
		t, err = n.l.c.httpTransport(s)
	}
	if err != nil {
		return nil, err
	}
	if _, ok := t.(*sdk.StreamableClientTransport); ok {
		return t, nil // the order of its messages does not matter, and it handles the session itself
	}
	return &listTransport{t, n}, nil
}

// client returns the protocol client for the server.
func (n *conn) client() *sdk.Client {
	o := &n.l.c.o
	opts := &sdk.ClientOptions{
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			n.markStale()
			n.relist()
		},
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) {},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			n.progress(r.Params)
		},
	}
	if o.Elicit != nil {
		opts.Capabilities.Elicitation = &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}
		opts.ElicitationHandler = n.elicit
	}
	c := sdk.NewClient(&sdk.Implementation{Name: o.Name, Version: o.Version}, opts)
	c.AddReceivingMiddleware(n.receive)
	return c
}

// receive handles the requests and notifications of the server.
func (n *conn) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if n.flooded() {
			flood := errors.New("the server sends too many messages")
			n.l.c.spawn(func() { n.l.onDisconnect(n, flood) })
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "too many messages"}
		}
		switch method {
		case "sampling/createMessage", "roots/list":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " is not supported by this client"}
		}
		return next(ctx, method, req)
	}
}

func (n *conn) flooded() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); now.Sub(n.rateWindow) >= time.Second {
		n.rateWindow, n.messages = now, 0
	}
	n.messages++
	return n.messages > maxMessages
}

// begin registers a running call.
func (n *conn) begin(r *runningCall) (token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.number++
	token = "call-" + strconv.Itoa(n.number)
	n.calls[token], n.last, r.number = r, r, n.number
	return token
}

// finish removes a call that has ended.
func (n *conn) finish(token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.calls, token)
	n.last = nil
	for _, other := range n.calls {
		if n.last == nil || other.number > n.last.number {
			n.last = other
		}
	}
}

// current returns the call to which a question of the server belongs.
func (n *conn) current() *runningCall {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

func (n *conn) progress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	n.mu.Lock()
	r := n.calls[token]
	n.mu.Unlock()
	if r == nil {
		return
	}
	text := p.Message
	if p.Total > 0 {
		text = fmt.Sprintf("%g/%g %s", p.Progress, p.Total, text)
	} else if text == "" {
		text = fmt.Sprintf("%g", p.Progress)
	}
	select {
	case r.news <- truncate.String(shown(text), 500) + "\n":
	default: // the reader is too slow: drop the message
	}
}

// end closes the connection in the background. When that is done, it closes n.over.
func (n *conn) end() {
	n.ending.Do(func() {
		n.cancel()
		go func() {
			defer close(n.over)
			if n.process != nil {
				n.process.end()
				defer func() { <-n.process.done }()
			}
			if n.session == nil {
				return
			}
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				_ = n.session.Close()
			}()
			t := time.NewTimer(closeTime)
			defer t.Stop()
			select {
			case <-closed:
			case <-t.C: // a transport from another package may not end
			}
		}()
	})
}

// closeTime is how long to wait for the end of a connection. It is longer than a process's grace time.
const closeTime = 4 * time.Second

// listTransport is a transport that detects a notice about a changed list before it passes on the
// response that follows.
type listTransport struct {
	sdk.Transport
	n *conn
}

func (t *listTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &listReader{c, t.n}, nil
}

type listReader struct {
	sdk.Connection
	n *conn
}

func (c *listReader) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == "notifications/tools/list_changed" {
		c.n.markStale()
	}
	return m, err
}
