package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/tool"
)

// Path is where a server answers over HTTP.
const Path = "/mcp"

// Options are what a [Server] is made of.
type Options struct {
	Version string
	Tools   []tool.Spec // what is offered
	// Open makes the agent of a client, whose model is given: it is to have Tools, and
	// nobody who answers questions but people.
	Open func(ctx context.Context, client string, m model.Model) (Agent, error)
	Log  *slog.Logger // may be nil
}

// Server offers an agent's tools to MCP clients. It is safe for concurrent use.
type Server struct {
	o   Options
	mcp *mcp.Server

	grace time.Duration

	mu       sync.Mutex
	sessions map[string]*ClientSession // by who calls
	closed   bool
}

const instructions = "Tools of Holdfast over the files of one folder. Each call is judged by the rules of whoever started this server, " +
	"confined by a sandbox, and recorded. A call may have to wait until a person allows it; what is denied says why."

// New returns a server. The caller closes it.
func New(o *Options) (*Server, error) {
	if o == nil || o.Open == nil {
		return nil, errors.New("mcpserver: nothing opens an agent")
	}
	s := &Server{o: *o, grace: grace, sessions: map[string]*ClientSession{}}
	if s.o.Log == nil {
		s.o.Log = slog.New(slog.DiscardHandler)
	}
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "holdfast", Title: "Holdfast", Version: cmp.Or(o.Version, "unknown")},
		&mcp.ServerOptions{Instructions: instructions, Logger: s.o.Log, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}},
	)
	for _, spec := range o.Tools {
		s.mcp.AddTool(describe(spec), s.call)
	}
	return s, nil
}

// describe is a tool as clients are told of it.
func describe(spec tool.Spec) *mcp.Tool {
	no := false
	a := &mcp.ToolAnnotations{ReadOnlyHint: spec.ReadOnly}
	if spec.Name != "Bash" {
		a.OpenWorldHint = &no
	}
	return &mcp.Tool{Name: spec.Name, Description: spec.Description, InputSchema: spec.Input, Annotations: a}
}

// Close ends all calls, and the agents.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	desks := s.sessions
	s.sessions = map[string]*ClientSession{}
	s.mu.Unlock()
	for _, d := range desks {
		d.Close()
	}
}

// grace is how long calls may go on when the client has closed its end: it may still read
// their results.
const grace = 30 * time.Second

// Serve speaks with one client over a pair of streams, until the client closes its end and
// has its answers or ctx ends, and closes the server.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	defer s.Close()
	defer context.AfterFunc(ctx, s.Close)() // the SDK would wait for the calls' own ends
	err := s.mcp.Run(ctx, &graceTransport{Transport: &mcp.IOTransport{Reader: in, Writer: out}, grace: s.grace})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		err = nil // that is how it ends
	}
	return err
}

// sessionTimeout is how long a client of the older protocol may be silent.
const sessionTimeout = time.Hour

// Handler serves HTTP at [Path], to callers with a token that may run something. What is
// left of a connection ends with it; the agent of a token lasts until the server closes.
func (s *Server) Handler(a *auth.Auth) http.Handler { return guarded(a, s.mcp, s.o.Log) }

// guarded is how a server is reached over HTTP: Host and Origin are looked at, the
// caller needs a token, and a session of MCP is its own.
func guarded(a *auth.Auth, server *mcp.Server, log *slog.Logger) http.Handler {
	get := func(*http.Request) *mcp.Server { return server }
	stateful := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Logger: log, SessionTimeout: sessionTimeout, EventStore: mcp.NewMemoryEventStore(nil),
	})
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: log, Stateless: true, PropagateRequestCancellation: true})
	both := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Since 2026-07-28 there are no sessions, and each request says what it is.
		if r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})
	mux := http.NewServeMux()
	mux.Handle(Path, sdkauth.RequireBearerToken(who, &sdkauth.RequireBearerTokenOptions{AllowMissingExpiration: true})(both))
	return a.Handler(mux)
}

// who is the caller that auth has let in, for the SDK, which keeps sessions apart by it.
func who(ctx context.Context, _ string, _ *http.Request) (*sdkauth.TokenInfo, error) {
	c, ok := auth.CallerFrom(ctx)
	if !ok || !c.HasScope(api.ScopeRun) {
		return nil, errors.Join(errScope, sdkauth.ErrInvalidToken)
	}
	return &sdkauth.TokenInfo{UserID: c.Token, Extra: map[string]any{"name": c.Name}}, nil
}

var errScope = errors.New("the token may not run anything: it needs the scope run")

// call is a tools/call.
func (s *Server) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	d, err := s.sessionOf(req)
	if err != nil {
		return nil, err
	}
	input := req.Params.Arguments
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	r, err := d.Call(ctx, req.Params.Name, input, progress(ctx, req))
	if err != nil {
		if ctx.Err() == nil {
			s.o.Log.Error("a call could not be run", "tool", req.Params.Name, "error", err)
			s.remove(d)
		}
		return nil, err
	}
	return result(&r), nil
}

// progress tells the client what a call waits for, when it wants to know.
func progress(ctx context.Context, req *mcp.CallToolRequest) func(string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return func(what string) {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: what})
	}
}

// sessionOf is that of whoever calls.
func (s *Server) sessionOf(req *mcp.CallToolRequest) (*ClientSession, error) {
	key, name := "", clientName(req.Session)
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		key = req.Extra.TokenInfo.UserID
		if token, _ := req.Extra.TokenInfo.Extra["name"].(string); token != "" {
			name += " (token " + token + ")"
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	d := s.sessions[key]
	if d == nil {
		d = NewClientSession(name, func(ctx context.Context, m model.Model) (Agent, error) { return s.o.Open(ctx, name, m) })
		s.sessions[key] = d
	}
	return d, nil
}

// remove leaves a desk behind that has failed: the next call opens another one.
func (s *Server) remove(d *ClientSession) {
	s.mu.Lock()
	for key, e := range s.sessions {
		if e == d {
			delete(s.sessions, key)
		}
	}
	s.mu.Unlock()
	d.Close()
}

// clientName is who the client says that it is.
func clientName(ss *mcp.ServerSession) string {
	if p := ss.InitializeParams(); p != nil {
		return named(p.ClientInfo)
	}
	return named(nil)
}

// named is a client's name as people read it: one line that can be printed.
func named(i *mcp.Implementation) string {
	const most = 100
	if i == nil {
		i = &mcp.Implementation{}
	}
	name := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(i.Name+" "+i.Version, ""))
	if name = strings.Join(strings.Fields(name), " "); len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return cmp.Or(name, "an MCP client")
}
