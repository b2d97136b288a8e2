package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/tool"
)

// daemonEnv is a whole daemon on a real socket and a real store, with scripted models. It can be
// restarted with the same store.
type daemonEnv struct {
	t           testing.TB
	store       session.Store
	closeStore  func() error
	home        string
	cwd         string
	plays       map[string]string // by agent
	rules       []policy.RuleSource
	ask         time.Duration  // until an approval request expires
	mask        *secret.Masker // nil masks nothing
	tune        func(*limits)
	outageDelay time.Duration          // until subscribers are notified of an outage
	trail       session.AppendObserver // nil: none
	workspaces  *workspace.Workspaces

	sessions *session.Sessions
	hub      *feed.Hub
	runs     *runs.Runs
	auth     *auth.Auth
	server   *Server
	address  string
	stop     func()

	mu   sync.Mutex
	ran  []string      // calls that ran, over all restarts
	held chan struct{} // closed by release: waiting tools continue

	during         func(what string)         // called in each call
	onAgentRequest func(n runs.AgentRequest) // receives each agent request
	pinged         func()                    // called in a client when a ping arrives
}

func beginDaemon(t testing.TB, plays map[string]string, tune func(*limits)) *daemonEnv {
	t.Helper()
	w := &daemonEnv{t: t, home: t.TempDir(), cwd: t.TempDir(), plays: plays, tune: tune, held: make(chan struct{})}
	w.openStore()
	w.begin()
	t.Cleanup(func() {
		w.stop()
		if err := w.closeStore(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *daemonEnv) openStore() {
	w.t.Helper()
	store, err := sqlite.Open(filepath.Join(w.home, "sessions.db"), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.store, w.closeStore = store, store.Close
}

func (w *daemonEnv) begin() {
	w.t.Helper()
	w.hub = feed.New(&feed.Options{OutageDelay: w.outageDelay})
	w.sessions = session.New(w.store, &session.Options{AppendObserver: w.hub.WrapObserver(w.trail)})
	w.hub.Serve(w.sessions)
	var err error
	if w.runs, err = runs.New(&runs.Options{Sessions: w.sessions, Hub: w.hub, Make: w.make, Tools: []string{"Bash", "write_file", "read_file", "book"}}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.runs.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if w.auth, err = auth.New(&auth.Options{Dir: filepath.Join(w.home, "run"), Refuse: Refuse}); err != nil {
		w.t.Fatal(err)
	}
	if w.server, err = New(&Options{Sessions: w.sessions, Hub: w.hub, Runs: w.runs, Auth: w.auth, Env: &env.Env{Vars: []string{"HOLDFAST_HOME=" + w.home}}, Version: "test", Workspaces: w.workspaces, Log: slog.New(slog.NewTextHandler(w.t.Output(), nil))}); err != nil {
		w.t.Fatal(err)
	}
	if w.tune != nil {
		w.tune(&w.server.sockets.limits)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.address = l.Addr().String()
	var served sync.WaitGroup
	served.Go(func() {
		if err := w.server.Serve(l); err != nil {
			w.t.Error(err)
		}
	})
	var once sync.Once
	w.stop = func() {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			err := w.server.Shutdown(ctx)
			if errors.Is(err, context.Canceled) { // a test has ended it before
				err = nil
			}
			served.Wait()
			if err := errors.Join(err, w.runs.Close(), w.hub.Close()); err != nil {
				w.t.Error(err)
			}
			w.auth.Close()
		})
	}
}

// restart ends the daemon and starts another one.
func (w *daemonEnv) restart() {
	w.t.Helper()
	w.stop()
	w.begin()
}

// release lets all waiting tools continue.
func (w *daemonEnv) release() { close(w.held) }

func (w *daemonEnv) did() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.ran...)
}

func (w *daemonEnv) make(_ context.Context, n runs.AgentRequest) (*runs.AgentParts, error) {
	if w.onAgentRequest != nil {
		w.onAgentRequest(n)
	}
	text, ok := w.plays[n.Agent.Name]
	if !ok {
		return nil, fmt.Errorf("agent %s has no play", n.Agent.Name)
	}
	m, err := scripted.New([]byte(text), nil)
	if err != nil {
		return nil, err
	}
	registry, err := tool.NewRegistry(
		&stub{w, "Bash", policy.OpCommand}, &stub{w, "write_file", policy.OpWrite}, &stub{w, "read_file", policy.OpRead},
		&stub{w, "book", ""},
	)
	if err != nil {
		return nil, err
	}
	rules, _, err := policy.RuleOptions{Home: w.home, Cwd: n.Spec.Cwd}.Compile(w.rules)
	if err != nil {
		return nil, err
	}
	return &runs.AgentParts{Model: m, Options: agent.Options{
		Tools: registry, Permissions: agent.Permissions{
			AskTimeout: w.ask,
			Config:     policy.Config{Mode: policy.Mode(n.Spec.Permissions.Mode), Folders: []string{n.Spec.Cwd}, Rules: rules},
		}, Mask: w.mask, Compact: agent.Compact{KeepTokens: 10},
	}}, nil
}

// stub is a tool that does nothing and records its calls.
type stub struct {
	w    *daemonEnv
	name string
	op   policy.Operation
}

func (s *stub) Spec() tool.Spec {
	return tool.Spec{Name: s.name, Description: s.name, Input: json.RawMessage(`{"type":"object"}`), ReadOnly: s.op == policy.OpRead}
}

func (s *stub) resource(c *tool.Call) (what string) {
	var in struct{ Command, Path string }
	_ = json.Unmarshal(c.Input, &in) // "" is a valid resource
	return in.Command + in.Path
}

func (s *stub) Requests(c *tool.Call) ([]policy.Request, error) {
	r := policy.Request{Operation: s.op, Resource: s.resource(c), Cwd: s.w.cwd, Input: c.Input, ReadOnly: s.op == policy.OpRead}
	var in struct {
		Content  string
		Override bool
	}
	if json.Unmarshal(c.Input, &in) == nil {
		r.Display, r.Override = in.Content, in.Override
	}
	return []policy.Request{r}, nil
}

func (s *stub) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	what := s.resource(c)
	s.w.mu.Lock()
	s.w.ran = append(s.w.ran, what)
	during := s.w.during
	held := s.w.held
	s.w.mu.Unlock()
	if during != nil {
		during(what)
	}
	if s.name == "book" {
		return fillForm(ctx, c)
	}
	if strings.HasPrefix(what, "hold") {
		select {
		case <-held:
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}
	return tool.Text("ran " + what), nil
}

// fillForm asks the user to fill in its input, which is a form.
func fillForm(ctx context.Context, c *tool.Call) (tool.Result, error) {
	given, err := c.Fill(ctx, policy.Request{Tool: c.Tool, Resource: "answer asker", Input: c.Input})
	if err != nil {
		return tool.Failure(err.Error()), nil //nolint:nilerr // the model gets the error
	}
	content, err := forms.ReadForm(c.Input, given)
	return tool.Text(string(content)), err
}

// token creates a token with scopes.
func (w *daemonEnv) token(scopes ...api.Scope) string {
	w.t.Helper()
	secret, _, err := w.auth.CreateToken(w.t.Context(), auth.Caller{Name: "ann", Method: "cli"}, api.Token{Name: "ann", Scopes: scopes})
	if err != nil {
		w.t.Fatal(err)
	}
	return secret
}

// client is a WebSocket client in a test.
type client struct {
	t  testing.TB
	ws *websocket.Conn
}

// dial opens a connection; with token "" without a credential.
func (w *daemonEnv) dial(token string) *client {
	w.t.Helper()
	c, _, err := w.tryDial(token)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// tryDial also returns the status of the answer; 0 if there was none.
func (w *daemonEnv) tryDial(token string) (c *client, status int, err error) {
	h := http.Header{}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	ws, res, err := websocket.Dial(w.t.Context(), "ws://"+w.address+"/v1/ws", &websocket.DialOptions{
		HTTPHeader: h,
		OnPingReceived: func(context.Context, []byte) bool {
			if w.pinged != nil {
				w.pinged()
			}
			return true
		},
	})
	if res != nil {
		status = res.StatusCode
		if res.Body != nil {
			_ = res.Body.Close()
		}
	}
	if err != nil {
		return nil, status, err
	}
	ws.SetReadLimit(-1)
	w.t.Cleanup(func() { _ = ws.CloseNow() })
	return &client{w.t, ws}, status, nil
}

// ann returns a client with all scopes.
func (w *daemonEnv) ann() *client {
	return w.dial(w.token(api.ScopeRead, api.ScopeRun, api.ScopeApprove))
}

func (c *client) send(frame string) {
	c.t.Helper()
	if err := c.write(frame); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) write(frame string) error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	return c.ws.Write(ctx, websocket.MessageText, []byte(frame))
}

// read reads a frame. The error of a closed connection contains its code.
func (c *client) read() ([]byte, error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	_, b, err := c.ws.Read(ctx)
	return b, err
}

func (c *client) next() map[string]any {
	c.t.Helper()
	b, err := c.read()
	if err != nil {
		c.t.Fatal(err)
	}
	return object(c.t, b)
}

// until reads until a message of a type.
func (c *client) until(kind string) map[string]any {
	c.t.Helper()
	for {
		if m := c.next(); m["type"] == kind {
			return m
		}
	}
}

// closeCode reads until the connection is closed, and returns the code.
func (c *client) closeCode() websocket.StatusCode {
	for {
		if _, err := c.read(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func object(t testing.TB, b []byte) map[string]any {
	t.Helper()
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return m
}

// prepare prepares a run with one agent and returns its id.
func (c *client) prepare(cwd string) string {
	c.t.Helper()
	b, err := json.Marshal(map[string]any{"type": "prepare_run", "cwd": cwd, "strategy": json.RawMessage(soleWriter)})
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(string(b))
	id, _ := c.until("run_prepared")["runId"].(string)
	return id
}

const soleWriter = `{"name":"solo","version":"1","agents":{"writer":{"type":"llm"}},"flow":"writer"}`
