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
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/tool"
)

// Path is the URL path of a server over HTTP.
const Path = "/mcp"

// Options configure a [Server].
type Options struct {
	Version string
	Tools   []tool.Spec // the offered tools
	// Open creates a client's agent with the given model. The agent must have Tools, and its
	// approvals may be answered only by users.
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

const instructions = "Holdfast's tools for the files of one folder. The permission rules of the user who started this server decide about each call; " +
	"it runs in a sandbox and is recorded. A call may wait until the user approves it. The result of a denied call has the reason."

// New returns a server. The caller closes it.
func New(o *Options) (*Server, error) {
	if o == nil || o.Open == nil {
		return nil, errors.New("mcpserver: Options.Open must be set")
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

// describe converts a tool's spec to MCP.
func describe(spec tool.Spec) *mcp.Tool {
	no := false
	a := &mcp.ToolAnnotations{ReadOnlyHint: spec.ReadOnly}
	if spec.Name != "Bash" {
		a.OpenWorldHint = &no
	}
	return &mcp.Tool{Name: spec.Name, Description: spec.Description, InputSchema: spec.Input, Annotations: a}
}

// Close ends all calls and all agents.
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

// grace is the time for which calls may continue after the client has closed its input, because the
// client may still read their results.
const grace = 30 * time.Second

// Serve serves one client over a pair of streams. It ends when the client has closed its input and
// received its answers, or when ctx ends. After that, it closes the server.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	defer s.Close()
	defer context.AfterFunc(ctx, s.Close)() // without it, the SDK would wait for the calls
	err := s.mcp.Run(ctx, &graceTransport{Transport: &mcp.IOTransport{Reader: in, Writer: out}, grace: s.grace})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		err = nil // the normal end
	}
	return err
}

// sessionTimeout is how long a client of an older protocol version may be idle.
const sessionTimeout = time.Hour

// Handler serves HTTP at [Path] for callers with a token that has the scope run. When a connection
// ends, its calls end. The agent of a token remains until the server closes.
func (s *Server) Handler(a *auth.Auth) http.Handler { return guarded(a, s.mcp, s.o.Log) }

// guarded adds authentication to the HTTP handler. It checks Host and Origin, requires a token, and
// allows only the caller that began an MCP session to use it.
func guarded(a *auth.Auth, server *mcp.Server, log *slog.Logger) http.Handler {
	get := func(*http.Request) *mcp.Server { return server }
	stateful := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Logger: log, SessionTimeout: sessionTimeout, EventStore: mcp.NewMemoryEventStore(nil),
	})
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: log, Stateless: true, PropagateRequestCancellation: true})
	both := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Since protocol version 2026-07-28, MCP has no sessions; every request is self-contained.
		if r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})
	mux := http.NewServeMux()
	mux.Handle(Path, requireScope(sdkauth.RequireBearerToken(verifyCaller, &sdkauth.RequireBearerTokenOptions{AllowMissingExpiration: true})(both)))
	return a.Handler(mux)
}

// requireScope rejects callers that may not call tools.
func requireScope(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := auth.CallerFrom(r.Context())
		if err := c.CheckScope(api.ScopeRun); err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="run"`) // RFC 6750
			http.Error(w, outcome.WithHint(err.Error(), outcome.Hint(err)), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// verifyCaller returns the authenticated caller for the SDK, which uses it to separate sessions.
func verifyCaller(ctx context.Context, _ string, _ *http.Request) (*sdkauth.TokenInfo, error) {
	c, ok := auth.CallerFrom(ctx)
	if !ok {
		return nil, sdkauth.ErrInvalidToken
	}
	return &sdkauth.TokenInfo{UserID: c.Token, Extra: map[string]any{"name": c.Name}}, nil
}

// call is a tools/call.
func (s *Server) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	d, err := s.sessionOf(req)
	if err != nil {
		return nil, err
	}
	input := req.Params.Arguments
	if len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	r, err := d.Call(ctx, req.Params.Name, input, progress(ctx, req))
	if err != nil {
		if ctx.Err() == nil {
			s.o.Log.Error("cannot run a call", "tool", req.Params.Name, "error", err)
			s.remove(d)
		}
		return nil, err
	}
	return result(&r), nil
}

// progress reports to the client what a call waits for, if the client has requested that.
func progress(ctx context.Context, req *mcp.CallToolRequest) func(string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return func(what string) {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: what})
	}
}

// sessionOf returns the caller's session.
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

// remove removes a failed session. The next call opens a new one.
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

// clientName returns the name that the client gave.
func clientName(ss *mcp.ServerSession) string {
	if p := ss.InitializeParams(); p != nil {
		return printableName(p.ClientInfo)
	}
	return printableName(nil)
}

// printableName returns a client's name as one printable line.
func printableName(i *mcp.Implementation) string {
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
