package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
)

type textInput struct {
	Text string `json:"text,omitempty"`
}

// serverEnv is a server over a memory store, with tools made for tests.
type serverEnv struct {
	t          *testing.T
	sessions   *session.Sessions
	server     *Server
	started    chan string // calls of Wait that run
	closed     sync.WaitGroup
	closeInput func() error // closes the client's end
}

func newServerEnv(t *testing.T, mode policy.Mode) *serverEnv {
	t.Helper()
	w := &serverEnv{t: t, sessions: session.New(memory.New(), nil), started: make(chan string, 8)}
	echo, err1 := tool.New(tool.Spec{Name: "Echo", ReadOnly: true}, func(_ context.Context, _ *tool.Call, in textInput) (tool.Result, error) {
		if in.Text == "fail" {
			return tool.Failure("it failed"), nil
		}
		return tool.Text(in.Text), nil
	}, nil)
	wait, err2 := tool.New(tool.Spec{Name: "Wait", ReadOnly: true}, func(ctx context.Context, _ *tool.Call, in textInput) (tool.Result, error) {
		w.started <- in.Text
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}, nil)
	write, err3 := tool.New(tool.Spec{Name: "Change"}, func(context.Context, *tool.Call, textInput) (tool.Result, error) {
		t.Error("what nobody allowed was run")
		return tool.Text("changed"), nil
	}, nil)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	registry, err := tool.NewRegistry(echo, wait, write)
	if err != nil {
		t.Fatal(err)
	}
	cwd := t.TempDir()
	w.server, err = New(&Options{Version: "1", Tools: registry.Specs(), Open: func(_ context.Context, client string, m model.Model) (Agent, error) {
		a, err := agent.New(m, &agent.Options{
			Tools: registry, Sessions: w.sessions, Permissions: agent.Permissions{Config: policy.Config{Mode: mode}},
			Session: session.RestoreOptions{Opened: session.Opened{CWD: cwd, Title: client}},
		})
		w.closed.Add(1)
		return &countedAgent{a, w}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.server.Close)
	return w
}

type countedAgent struct {
	*agent.Agent
	w *serverEnv
}

func (c *countedAgent) Close() error {
	defer c.w.closed.Done()
	return c.Agent.Close()
}

// connect is a client of the SDK at the other end of two pipes.
func (w *serverEnv) connect() *mcp.ClientSession {
	w.t.Helper()
	return w.connectUntil(w.t.Context())
}

func (w *serverEnv) connectUntil(ctx context.Context) *mcp.ClientSession {
	w.t.Helper()
	theirs, ours := io.Pipe()
	ourIn, theirOut := io.Pipe()
	w.closeInput = theirOut.Close
	done := make(chan error, 1)
	go func() { done <- w.server.Serve(ctx, ourIn, ours) }()
	c := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "2"}, nil)
	s, err := c.Connect(w.t.Context(), &mcp.IOTransport{Reader: theirs, Writer: theirOut}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = s.Close()
		<-done
		w.closed.Wait()
	})
	return s
}

func callTool(ctx context.Context, s *mcp.ClientSession, name, text string) (string, bool, error) {
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{"text": text}})
	if err != nil {
		return "", false, err
	}
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String(), r.IsError, nil
}

// Each call is recorded like a model's call: as a turn in the session's log.
func TestCallsAreRecordedAsTurns(t *testing.T) {
	w := newServerEnv(t, policy.ModeDefault)
	s := w.connect()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 3 || list.Tools[0].Annotations.ReadOnlyHint || !list.Tools[1].Annotations.ReadOnlyHint {
		t.Fatalf("%v, %v", list, err)
	}
	for _, tt := range []struct {
		tool, text, want string
		failed           bool
	}{
		{"Echo", "hello", "hello", false},
		{"Echo", "fail", "it failed", true},
		{"Change", "x", "no one can answer", true},
		{"Echo", "again", "again", false},
	} {
		text, failed, err := callTool(t.Context(), s, tt.tool, tt.text)
		if err != nil || failed != tt.failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s %s: %q, %v, %v", tt.tool, tt.text, text, failed, err)
		}
	}
	if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "Echo", Arguments: map[string]any{"txt": 1}}); err != nil || !r.IsError {
		t.Errorf("an input that does not fit: %v, %v", r, err)
	}
	if _, _, err := callTool(t.Context(), s, "Approve", ""); err == nil {
		t.Error("there is a tool that was not offered")
	}
	page, err := w.sessions.List(t.Context(), session.Query{})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].Title != "tester 2" {
		t.Fatalf("%v, %v", page, err)
	}
	kinds := map[session.Kind]int{}
	for r, err := range w.sessions.Records(t.Context(), page.Sessions[0].ID, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[r.Kind]++
	}
	if kinds[record.KindDecision] < 4 || kinds[record.KindToolStarted] != 3 || kinds[record.KindToolFinished] != 3 || kinds[record.KindTurnOpened] != 1 {
		t.Errorf("the log has %v", kinds)
	}
}

// Concurrent calls are all answered, each with its own result.
func TestConcurrentCalls(t *testing.T) {
	w := newServerEnv(t, policy.ModeDefault)
	s := w.connect()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			want := fmt.Sprintf("text %d", i)
			if text, _, err := callTool(t.Context(), s, "Echo", want); err != nil || text != want {
				t.Errorf("%q, %v; want %q", text, err, want)
			}
		})
	}
	wg.Wait()
}

// A call that its client cancels is interrupted, and the next one runs.
func TestCancelledCall(t *testing.T) {
	w := newServerEnv(t, policy.ModeDefault)
	s := w.connect()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := callTool(ctx, s, "Wait", "one")
		done <- err
	}()
	<-w.started
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if text, _, err := callTool(t.Context(), s, "Echo", "on"); err != nil || text != "on" {
		t.Errorf("%q, %v", text, err)
	}
}

// When the client disconnects, its agent is closed, even during a call.
func TestClientDisconnects(t *testing.T) {
	w := newServerEnv(t, policy.ModeDefault)
	w.server.grace = time.Millisecond
	s := w.connect()
	go func() { _, _, _ = callTool(t.Context(), s, "Wait", "one") }()
	<-w.started
	_ = w.closeInput()
	w.closed.Wait()
}

// A client that sends all requests and then closes its output receives an answer to each.
func TestAnswersAfterInputEnds(t *testing.T) {
	w := newServerEnv(t, policy.ModeDefault)
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`
	for i := 3; i < 10; i++ {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Echo","arguments":{"text":"text %[1]d"}}}`+"\n", i)
	}
	var out bytes.Buffer
	if err := w.server.Serve(t.Context(), io.NopCloser(strings.NewReader(in)), nopWriteCloser{&out}); err != nil {
		t.Fatal(err)
	}
	w.closed.Wait()
	if n := strings.Count(out.String(), `"result"`); n != 9 || !strings.Contains(out.String(), "text 9") {
		t.Errorf("%d answers:\n%s", n, out.String())
	}
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// Closing the server does not wait for a running call.
func TestCloseDuringCall(t *testing.T) {
	w := newServerEnv(t, policy.ModeDefault)
	ctx, stop := context.WithCancel(t.Context())
	s := w.connectUntil(ctx)
	go func() { _, _, _ = callTool(t.Context(), s, "Wait", "one") }()
	<-w.started
	stop()
	w.closed.Wait()
}

func TestOpenError(t *testing.T) {
	d := NewClientSession("x", func(context.Context, model.Model) (Agent, error) { return nil, errors.New("no store") })
	defer d.Close()
	if _, err := d.Call(t.Context(), "Echo", nil, nil); err == nil || !strings.Contains(err.Error(), "no store") {
		t.Error(err)
	}
	if _, err := New(&Options{}); err == nil {
		t.Error("a server without an agent")
	}
}

// Over HTTP, a request needs a token with the scope run and is rejected from another host or another
// site's page; each token has its own session.
func TestHTTP(t *testing.T) {
	w := newServerEnv(t, policy.ModeDefault)
	a, err := auth.New(&auth.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	token := func(scope api.Scope) string {
		secret, _, err := a.CreateToken(t.Context(), auth.Caller{Name: "ann", Method: "cli"}, api.Token{Name: string(scope), Scopes: []api.Scope{scope}})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	h := w.server.Handler(a)
	post := func(path, host, origin, token, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://"+host+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		out := httptest.NewRecorder()
		h.ServeHTTP(out, r)
		return out
	}
	s := httptest.NewServer(h)
	defer s.Close()
	a.Listening(s.Listener.Addr())
	host := s.Listener.Addr().String()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
	run, read := token(api.ScopeRun), token(api.ScopeRead)
	for _, tt := range []struct {
		name, path, host, origin, token string
		want                            int
	}{
		{"a token that may run", Path, host, "", run, 200},
		{"no token", Path, host, "", "", 401},
		{"a token that may only read", Path, host, "", read, 403},
		{"no token of ours", Path, host, "", "hf_none", 401},
		{"another host", Path, "evil.example:80", "", run, 403},
		{"another site", Path, host, "https://evil.example", run, 403},
		{"another path", "/v1/sessions", host, "", run, 404},
	} {
		if got := post(tt.path, tt.host, tt.origin, tt.token, hello); got.Code != tt.want {
			t.Errorf("%s: %d %s", tt.name, got.Code, got.Body)
		}
	}
	first := post(Path, host, "", run, hello).Header().Get("Mcp-Session-Id")
	if first == "" {
		t.Fatal("there is no session")
	}
	r := httptest.NewRequest(http.MethodPost, "http://"+host+Path, strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {first},
		"Authorization": {"Bearer " + token(api.ScopeAdmin)},
	}
	out := httptest.NewRecorder()
	h.ServeHTTP(out, r)
	if out.Code == http.StatusOK {
		t.Errorf("another token used the session: %s", out.Body)
	}
}
