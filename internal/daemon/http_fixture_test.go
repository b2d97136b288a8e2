package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// httpEnv is the HTTP API over real parts: SQLite, a hub, runs of a scripted model, and tokens, on
// a real socket. Every answer is checked against the OpenAPI document.
type httpEnv struct {
	t        testing.TB
	sessions *session.Sessions
	hub      *feed.Hub
	runs     *runs.Runs
	auth     *auth.Auth
	api      *service
	server   *httptest.Server
	tokens   map[api.Scope]string // a token for each single scope
	client   *http.Client
	checks   *checker

	mu  sync.Mutex
	ran []string

	observers []agent.LoopObserver // of agents that are created from then on
}

const pushScript = `
steps:
  - text: I push.
    tool_uses: [{id: u1, tool: Bash, input: {command: git push}}]
  - text: "pushed: {{last_result}}"
  - text: again
  - text: and again
`

const twoCallsScript = `
steps:
  - tool_uses: [{id: u1, tool: Bash, input: {command: git push}}]
  - tool_uses: [{id: u2, tool: Bash, input: {command: make}}]
  - text: done
`

// newHTTPEnv starts an httpEnv; change may modify the options of the server.
func newHTTPEnv(t testing.TB, change ...func(*Options)) *httpEnv {
	t.Helper()
	return newHTTPEnvOn(t, func(s session.Store) session.Store { return s }, change...)
}

// newHTTPEnvOn is newHTTPEnv with a wrapper around the store.
func newHTTPEnvOn(t testing.TB, around func(session.Store) session.Store, change ...func(*Options)) *httpEnv {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlite.Open(filepath.Join(dir, "sessions.db"), nil)
	must(t, err)
	w := &httpEnv{t: t, tokens: map[api.Scope]string{}}
	w.hub = feed.New(&feed.Options{Poll: 20 * time.Millisecond, OutageDelay: 200 * time.Millisecond})
	w.sessions = session.New(around(store), &session.Options{AppendObserver: w.hub.WrapObserver(nil)})
	w.hub.Serve(w.sessions)
	w.runs, err = runs.New(&runs.Options{Sessions: w.sessions, Hub: w.hub, Make: w.make})
	must(t, err)
	w.auth, err = auth.New(&auth.Options{Dir: filepath.Join(dir, "run"), Refuse: Refuse})
	must(t, err)
	o := &Options{Sessions: w.sessions, Hub: w.hub, Runs: w.runs, Auth: w.auth, Version: "1.2.3", Env: &env.Env{Vars: []string{"HOME=" + dir, "HOLDFAST_HOME=" + dir}}}
	o.Store, err = stores.Parse(o.Env, "")
	must(t, err)
	for _, f := range change {
		f(o)
	}
	w.api = newService(o)
	mux := http.NewServeMux()
	w.api.routes(mux)
	w.server = httptest.NewServer(w.auth.Handler(mux, w.api.openPaths()...))
	w.auth.Listening(w.server.Listener.Addr())
	for _, s := range []api.Scope{api.ScopeRead, api.ScopeRun, api.ScopeApprove, api.ScopeAdmin} {
		w.tokens[s], _, err = w.auth.CreateToken(t.Context(), auth.Caller{Name: "ann", Method: "cli"}, api.Token{Name: string(s) + "er", Scopes: []api.Scope{s}})
		must(t, err)
	}
	w.client = &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	w.checks = newChecker(t, w.api)
	t.Cleanup(func() {
		w.api.stop()
		w.server.Close()
		w.client.CloseIdleConnections()
		must(t, errors.Join(w.runs.Close(), w.hub.Close(), w.auth.Close(), store.Close()))
	})
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *httpEnv) make(_ context.Context, n runs.AgentRequest) (*runs.AgentParts, error) {
	if n.Spec.Model == "none/none" {
		return nil, errors.New("there is no model none/none")
	}
	text := pushScript
	if n.Spec.Model == "play/twice" {
		text = twoCallsScript
	}
	m, err := scripted.New([]byte(text), nil)
	if err != nil {
		return nil, err
	}
	registry, err := tool.NewRegistry(&bashTool{w})
	if err != nil {
		return nil, err
	}
	return &runs.AgentParts{Model: m, Options: agent.Options{
		Tools: registry, Permissions: agent.Permissions{Config: policy.Config{Mode: policy.Mode(n.Spec.Permissions.Mode), Folders: []string{n.Spec.Cwd}}},
		LoopObservers: w.observers,
	}}, nil
}

// bashTool runs nothing and records its commands.
type bashTool struct{ w *httpEnv }

func (b *bashTool) Spec() tool.Spec {
	return tool.Spec{Name: "Bash", Description: "runs", Input: json.RawMessage(`{"type":"object"}`)}
}

func (b *bashTool) Requests(c *tool.Call) ([]policy.Request, error) {
	var in struct{ Command string }
	err := json.Unmarshal(c.Input, &in)
	return []policy.Request{{Operation: policy.OpCommand, Resource: in.Command, Cwd: "/"}}, err
}

func (b *bashTool) Run(_ context.Context, c *tool.Call) (tool.Result, error) {
	var in struct{ Command string }
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return tool.Result{}, err
	}
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	b.w.ran = append(b.w.ran, in.Command)
	return tool.Text("ran " + in.Command), nil
}

// session creates a session with some items.
func (w *httpEnv) session(id string, patch *session.MetaPatch, texts ...string) {
	w.t.Helper()
	var items []transcript.Item
	for i, s := range texts {
		role := transcript.RoleUser
		if i%2 == 1 {
			role = transcript.RoleAssistant
		}
		items = append(items, transcript.Item{ID: fmt.Sprintf("%s-%d", id, i), Role: role, Parts: []transcript.Part{transcript.Text{Text: s}}})
	}
	must(w.t, w.sessions.Save(w.t.Context(), id, items, patch))
}

// reply is an answer of the daemon.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (a *reply) String() string { return strconv.Itoa(a.status) + " " + string(a.body) }

func (a *reply) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
}

// problem returns the answer as a problem, which it must be.
func (a *reply) problem(t testing.TB) api.Problem {
	t.Helper()
	var p api.Problem
	a.into(t, &p)
	if a.header.Get("Content-Type") != "application/problem+json" || p.Status != a.status || p.Code == "" ||
		p.Type != "urn:holdfast:problem:"+p.Code || p.Title == "" || p.Detail == "" {
		t.Errorf("an incomplete problem: %s", a)
	}
	return p
}

// do sends a request as an admin, or with headers such as "Name: value".
func (w *httpEnv) do(method, path, body string, headers ...string) *reply {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, strings.NewReader(body))
	must(w.t, err)
	r.Header.Set("Authorization", "Bearer "+w.tokens[api.ScopeAdmin])
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); value == "" {
			r.Header.Del(name)
		}
	}
	resp, err := w.client.Do(r)
	must(w.t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	must(w.t, err)
	a := &reply{resp.StatusCode, resp.Header, b}
	w.checks.check(method, r.URL.Path, a)
	return a
}

// want sends a request, checks the status of the answer, and decodes it.
func (w *httpEnv) want(status int, v any, method, path, body string, headers ...string) *reply {
	w.t.Helper()
	a := w.do(method, path, body, headers...)
	if a.status != status {
		w.t.Fatalf("%s %s: %s, want %d", method, path, a, status)
	}
	if v != nil {
		reflect.ValueOf(v).Elem().SetZero()
		a.into(w.t, v)
	}
	return a
}

// as returns the header of a caller with one scope.
func (w *httpEnv) as(s api.Scope) string { return "Authorization: Bearer " + w.tokens[s] }

// checker checks answers against the OpenAPI document.
type checker struct {
	t    testing.TB
	doc  openDoc
	made map[string]*jsonschema.Resolved
	mu   sync.Mutex
	seen map[string]bool // operation and status
}

// openDoc is the part of the document that the tests read.
type openDoc struct {
	Paths map[string]map[string]struct {
		ID        string `json:"operationId"`
		Responses map[string]struct {
			Ref     string `json:"$ref"`
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
	Components struct {
		Schemas map[string]json.RawMessage
	}
}

func newChecker(t testing.TB, a *service) *checker {
	t.Helper()
	b, err := a.document()
	must(t, err)
	b = bytes.ReplaceAll(b, []byte("#/components/schemas/"), []byte("#/$defs/"))
	c := &checker{t: t, made: map[string]*jsonschema.Resolved{}, seen: map[string]bool{}}
	must(t, json.Unmarshal(b, &c.doc))
	return c
}

// operation returns the path in the document for a request.
func (c *checker) operation(path string) string {
	best := ""
	for p := range c.doc.Paths {
		parts, want := strings.Split(path, "/"), strings.Split(p, "/")
		if len(parts) != len(want) {
			continue
		}
		fits := true
		for i := range want {
			fits = fits && (want[i] == parts[i] || strings.HasPrefix(want[i], "{"))
		}
		if fits && (best == "" || strings.Count(p, "{") < strings.Count(best, "{")) {
			best = p
		}
	}
	return best
}

func (c *checker) check(method, path string, a *reply) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	place := c.operation(path)
	op, ok := c.doc.Paths[place][strings.ToLower(method)]
	if !ok || method == http.MethodHead {
		return
	}
	r, ok := op.Responses[strconv.Itoa(a.status)]
	if !ok {
		c.t.Errorf("%s %s answers %d, which the document does not have: %s", method, place, a.status, a)
		return
	}
	c.seen[op.ID+" "+strconv.Itoa(a.status)] = true
	if r.Ref != "" {
		c.validate("Problem", json.RawMessage(`{"$ref":"#/$defs/Problem"}`), a)
		return
	}
	typ, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	content, ok := r.Content[typ]
	switch {
	case !ok && len(r.Content) > 0:
		c.t.Errorf("%s %s answers %q, which the document does not have", method, place, typ)
	case len(r.Content) == 0 && len(a.body) > 0:
		c.t.Errorf("%s %s answers a body, which the document does not have: %s", method, place, a)
	case typ == "application/json":
		c.validate(op.ID+strconv.Itoa(a.status), content.Schema, a)
	}
}

func (c *checker) validate(key string, schema json.RawMessage, a *reply) {
	c.t.Helper()
	res := c.made[key]
	if res == nil {
		var root jsonschema.Schema
		must(c.t, json.Unmarshal(schema, &root))
		root.Defs = map[string]*jsonschema.Schema{}
		for name, raw := range c.doc.Components.Schemas {
			s := new(jsonschema.Schema)
			must(c.t, json.Unmarshal(raw, s))
			root.Defs[name] = s
		}
		var err error
		res, err = root.Resolve(nil)
		must(c.t, err)
		c.made[key] = res
	}
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		c.t.Errorf("%s: %v", a, err)
		return
	}
	if err := res.Validate(v); err != nil {
		c.t.Errorf("%s does not fit its schema: %v\n%s", key, err, a)
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for until := time.After(20 * time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-until:
			t.Fatalf("timeout waiting for: %s", what)
		}
	}
}

func ids(list []api.Session) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.ID)
	}
	slices.Sort(out)
	return out
}
