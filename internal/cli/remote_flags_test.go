package cli

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// there is a folder, a daemon in this process, and a server that answers as a model and keeps
// what it was sent.
type there struct {
	t    *testing.T
	dir  string
	env  []string
	d    *client.Client
	stop func()

	mu       sync.Mutex
	requests []string
}

func newThere(t *testing.T, answer ...string) *there {
	t.Helper()
	h := &there{t: t, dir: shortDir(t)}
	if len(answer) == 0 {
		answer = []string{`{"role": "assistant", "content": "done"}`}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		_, _ = fmt.Fprintf(&b, "%s\n", r.Header.Get("Authorization"))
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		b.Write(body)
		h.mu.Lock()
		n := min(len(h.requests), len(answer)-1)
		h.requests = append(h.requests, b.String())
		h.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		reason := "stop"
		if strings.Contains(answer[n], "tool_calls") {
			reason = "tool_calls"
		}
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", answer[n])
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n", reason)
	}))
	t.Cleanup(server.Close)
	h.env = environ(h.dir, "OPENAI_API_KEY=key-of-ann", "OPENAI_BASE_URL="+server.URL+"/v1", "HOLDFAST_MODEL=openai/m")
	write(t, h.dir, "play.yaml", "price: {input: 3, output: 15}\nsteps: [{text: done}, {text: done}, {text: done}]")
	h.d, h.stop = serve(t, h.dir, h.env)
	return h
}

// run runs the command line, and checks that the run happened in the daemon.
func (h *there) run(args ...string) (out, errs string, code int) {
	h.t.Helper()
	p, o, e := sitDown(h.dir, h.env, append([]string{"run", "--session-id", "s"}, args...)...)
	code = p.Run(h.t.Context())
	if _, err := h.d.Run(h.t.Context(), "s"); err != nil {
		h.t.Errorf("it did not run in the daemon: %v\n%s%s", err, o, e)
	}
	return o.String(), e.String(), code
}

// sent is everything that the model was sent.
func (h *there) sent() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.requests, "\n")
}

// recorded is the spec of the newest start of run s.
func (h *there) recorded() *runspec.Spec {
	h.t.Helper()
	var spec *runspec.Spec
	for e, err := range h.d.Events(h.t.Context(), "s", 0) {
		if err != nil {
			h.t.Fatal(err)
		}
		if e.Kind == client.EventCaughtUp {
			break
		}
		if e.Kind == client.EventRecord && e.Record.Kind == session.KindRunEvent {
			var r wire.RunEvent
			if err := json.Unmarshal(e.Record.Payload, &r); err != nil {
				h.t.Fatal(err)
			}
			if r.Event == wire.RunStarted {
				spec = r.Spec
			}
		}
	}
	return spec
}

// calls is an answer of the model that calls Bash.
func calls(command string) string {
	args, _ := json.Marshal(map[string]string{"command": command})
	text, _ := json.Marshal(string(args))
	return `{"role": "assistant", "tool_calls": [{"index": 0, "id": "call-1", "type": "function", "function": {"name": "Bash", "arguments": ` + string(text) + `}}]}`
}

const saysDone = `{"role": "assistant", "content": "done"}`

// maker is the daemon's, as it is after a restart: without anything of the client.
func (h *there) maker(env ...string) *maker {
	p, _, _ := sitDown(h.dir, append(h.env, env...))
	return &maker{p: p, home: filepath.Join(h.dir, "home"), log: slog.New(slog.DiscardHandler)}
}

// made is the agent that a daemon builds from a record.
func (h *there) made(spec *runspec.Spec) *runs.Made {
	h.t.Helper()
	made, err := h.maker().make(h.t.Context(), runs.Need{
		Run: "s", Session: "s", Spec: *spec, Agent: strategy.Agent{Name: "agent", Type: strategy.LLM}, By: runs.Actor{Name: "ann", Via: "cli"},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(made.Close)
	return made
}

// proof shows that a field of the spec takes effect through the daemon.
type proof struct {
	alone   func(h *there)                       // shows it by itself
	before  func(h *there)                       // makes what the run needs
	args    []string                             // of run, without the prompt
	body    func(h *there) *api.NewRun           // or what a client of the HTTP API sends
	answers []string                             // of the model
	sent    string                               // what the model is sent because of it
	built   func(h *there, made *runs.Made) bool // of the agent that the record builds
	check   func(h *there, out, errs string, code int)
	gone    bool // the field is no part of the record: it has a place of its own there, or is resolved
	refused bool // there is no run
}

func (p *proof) try(t *testing.T, field []int) {
	h := newThere(t, p.answers...)
	if p.alone != nil {
		p.alone(h)
		return
	}
	if p.before != nil {
		p.before(h)
	}
	var out, errs string
	var code int
	switch {
	case p.body != nil:
		n := p.body(h)
		info, err := h.d.CreateRun(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { r, err := h.d.Run(t.Context(), info.RunID); return err == nil && r.Status.Ended() })
		out = info.RunID
	case p.refused:
		pr, o, e := sitDown(h.dir, h.env, append(append([]string{"run", "--session-id", "s"}, p.args...), "go")...)
		code = pr.Run(t.Context())
		out, errs = o.String(), e.String()
	default:
		out, errs, code = h.run(append(p.args, "go")...)
	}
	if p.check != nil {
		p.check(h, out, errs, code)
	} else if code != 0 {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if p.sent != "" && !strings.Contains(h.sent(), strings.ReplaceAll(p.sent, "DIR", h.dir)) {
		t.Errorf("the model was not sent %q: %.3000s", p.sent, h.sent())
	}
	if p.gone || p.refused {
		return
	}
	spec := h.recorded()
	if spec == nil || reflect.ValueOf(spec).Elem().FieldByIndex(field).IsZero() {
		t.Fatalf("it is not on record: %+v", spec)
	}
	if p.built != nil && !p.built(h, h.made(spec)) {
		t.Error("a daemon that restarts builds an agent without it")
	}
}

func run1(h *there, args ...string) {
	h.t.Helper()
	if out, errs, code := h.run(args...); code != 0 {
		h.t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
}

func repository(h *there) {
	h.t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", h.dir}, args...)...).CombinedOutput(); err != nil {
			h.t.Skipf("git: %v: %s", err, out)
		}
	}
}

// blog makes a workspace.
func blog(h *there) {
	h.t.Helper()
	p, _, errs := sitDown(h.dir, h.env, "workspace", "create", "blog")
	if code := p.Run(h.t.Context()); code != 0 {
		h.t.Fatalf("exit code %d: %s", code, errs)
	}
}

// inSpace checks what the daemon builds for a workspace of what flags say. To start it a container
// would be needed.
func inSpace(c workspaceRunFlags, check func(m *compose.SpaceParts) bool) func(h *there) {
	return func(h *there) {
		h.t.Helper()
		blog(h)
		m := h.maker()
		p, _, _ := sitDown(h.dir, h.env)
		spec, err := (&runCmd{workspaceRunFlags: c}).spec(p, h.dir, nil)
		if err != nil {
			h.t.Fatal(err)
		}
		if m.spaces, err = workspace.New(m.home, nil); err != nil {
			h.t.Fatal(err)
		}
		defer m.spaces.Close()
		n := runs.Need{Run: "s", Session: "s", Spec: spec, Agent: strategy.Agent{Name: "agent", Type: strategy.LLM}}
		n.Spec.Cwd = h.dir
		e, _, err := m.environment(h.t.Context(), &n)
		if err != nil {
			h.t.Fatal(err)
		}
		parts, err := m.partsInWorkspace(h.t.Context(), &compose.Request{Env: e, Spec: &n.Spec, Cwd: h.dir}, &n)
		if err != nil {
			h.t.Fatal(err)
		}
		defer parts.Close()
		if !check(parts) {
			h.t.Errorf("built for %+v: %+v", spec, parts.Options)
		}
	}
}

// goBack runs twice, and then from the first answer on.
func goBack(h *there) {
	run1(h, "apples")
	run1(h, "bananas")
	item := ""
	for e, err := range h.d.Events(h.t.Context(), "s", 0) {
		if err != nil {
			h.t.Fatal(err)
		}
		if e.Kind == client.EventCaughtUp {
			break
		}
		if e.Kind != client.EventRecord || e.Record.Kind != session.KindItem {
			continue
		}
		it, err := session.ReadItem(e.Record.Payload)
		if err != nil {
			h.t.Fatal(err)
		}
		if it.Item.Role() == transcript.RoleAssistant && item == "" {
			item = it.Item.ID()
		}
	}
	run1(h, "--at", item, "third")
	if last := h.requests[len(h.requests)-1]; strings.Contains(last, "bananas") || !strings.Contains(last, "apples") {
		h.t.Errorf("the model was sent %s", last)
	}
}

// takeOver takes a session from another process.
func takeOver(h *there) {
	run1(h, "first")
	p, _, _ := sitDown(h.dir, h.env)
	sessions, closeStore, err := p.openStore(h.t.Context(), "")
	if err != nil {
		h.t.Fatal(err)
	}
	defer closeStore()
	log, err := sessions.Open(h.t.Context(), "s", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	defer log.Close()
	if out, errs, code := h.run("second"); code == 0 {
		h.t.Errorf("nobody was in the way: %s%s", out, errs)
	}
	run1(h, "--takeover", "third")
}

const oneAgent = `{"name": "one", "version": "1", "agents": {"writer": {"systemPrompt": "I am the writer."}}, "flow": {"type": "sequential", "name": "all", "steps": [{"agent": "writer", "name": "write"}]}}`

func has[T any](get func(made *runs.Made) T, want T) func(*there, *runs.Made) bool {
	return func(_ *there, made *runs.Made) bool { return reflect.DeepEqual(get(made), want) }
}

const oneServer = `{"mcpServers": {"clock": {"command": "/nonexistent/clock"}}}`

// proofs has one entry for each field of [runspec.Spec].
var proofs = map[string]proof{
	"Prompt":           {sent: `"go"`, gone: true},
	"Model":            {args: []string{"--model", "openai/other"}, sent: `"model":"other"`},
	"Cwd":              {before: func(h *there) { _ = os.Mkdir(filepath.Join(h.dir, "sub"), 0o700) }, args: []string{"--cwd", "sub"}, sent: `Working folder: DIR/sub`},
	"AddDirs":          {before: func(h *there) { _ = os.Mkdir(filepath.Join(h.dir, "lib"), 0o700) }, args: []string{"--cwd", "lib", "--add-dir", "."}, sent: `Additional folder: DIR`},
	"Worktree.Enabled": {before: repository, args: []string{"--worktree", "--allowed-tools", "Bash", "--no-sandbox"}, answers: []string{calls("pwd"), saysDone}, sent: "worktrees/run-s"},
	"Worktree.Name":    {before: repository, args: []string{"--worktree=fix", "--allowed-tools", "Bash", "--no-sandbox"}, answers: []string{calls("pwd"), saysDone}, sent: "worktrees/fix"},

	"Workspace":           {alone: inSpace(workspaceRunFlags{Workspace: "blog"}, func(m *compose.SpaceParts) bool { return m.In.Settings.Slug == "blog" })},
	"Container.Agent":     {alone: inSpace(workspaceRunFlags{Workspace: "blog", Agent: "claude"}, func(m *compose.SpaceParts) bool { return m.In.Kind == "claude" })},
	"Container.Ephemeral": {alone: inSpace(workspaceRunFlags{Workspace: "blog", Ephemeral: true}, func(m *compose.SpaceParts) bool { return m.Options.Ephemeral })},

	"Session.ID":       {gone: true},
	"Session.At":       {alone: goBack},
	"Session.Takeover": {alone: takeOver},
	"Session.Resume": {before: func(h *there) { run1(h, "--name", "work", "first") }, gone: true, sent: "second", body: func(h *there) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "second", Session: runspec.Session{Resume: "work"}}}
	}, check: func(h *there, id, _ string, _ int) {
		if id != "s" {
			h.t.Errorf("it went on in %s", id)
		}
	}},
	"Session.Continue": {before: func(h *there) { run1(h, "first") }, gone: true, sent: "second", body: func(h *there) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "second", Cwd: h.dir, Session: runspec.Session{Continue: true}}}
	}, check: func(h *there, id, _ string, _ int) {
		if id != "s" {
			h.t.Errorf("it went on in %s", id)
		}
	}},
	"Session.Fork": {before: func(h *there) { run1(h, "first") }, gone: true, sent: "second", body: func(h *there) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "second", Session: runspec.Session{ID: "s", Fork: true}}}
	}, check: func(h *there, id, _ string, _ int) {
		if m, err := h.d.Session(h.t.Context(), id); err != nil || m.Parent != "s" {
			h.t.Errorf("%s: %+v: %v", id, m, err)
		}
	}},
	"Session.WithGrants": {before: func(h *there) { run1(h, "first") }, gone: true, sent: "second", body: func(h *there) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "second", Session: runspec.Session{ID: "s", Fork: true, WithGrants: true}}}
	}, check: func(h *there, id, _ string, _ int) {
		if m, err := h.d.Session(h.t.Context(), id); err != nil || m.Parent != "s" {
			h.t.Errorf("%s: %+v: %v", id, m, err)
		}
	}},
	"Session.Title": {args: []string{"--name", "shopping"}, check: func(h *there, _, _ string, _ int) {
		if m, err := h.d.Session(h.t.Context(), "s"); err != nil || m.Title != "shopping" {
			h.t.Errorf("%+v: %v", m, err)
		}
	}},
	"Session.NoPersist": {args: []string{"--no-session-persistence"}, refused: true, check: func(h *there, _, errs string, code int) {
		if code != outcome.Usage.Exit || !strings.Contains(errs, "add --no-daemon") {
			h.t.Errorf("exit code %d: %s", code, errs)
		}
	}},

	"ModelOptions.Fallback":  {args: []string{"--fallback-model", "openai/spare"}, built: func(_ *there, m *runs.Made) bool { return m.Options.Fallback.Info().Model == "spare" }},
	"ModelOptions.MaxTokens": {args: []string{"--max-tokens", "77"}, sent: `:77`, built: has(func(m *runs.Made) int { return m.Options.MaxTokens }, 77)},
	"ModelOptions.Effort":    {args: []string{"--effort", "low"}, built: has(func(m *runs.Made) string { return m.Options.Effort }, "low")},
	"ModelOptions.BaseURL": {args: []string{"--base-url", "http://127.0.0.1:9/v1"}, check: func(h *there, _, errs string, code int) {
		if code == 0 || h.sent() != "" || !strings.Contains(errs, "127.0.0.1:9") {
			h.t.Errorf("exit code %d: %s", code, errs)
		}
	}},
	"Instructions.System":       {args: []string{"--system-prompt", "Be a pirate."}, sent: "Be a pirate."},
	"Instructions.AppendSystem": {before: func(h *there) { write(h.t, h.dir, "more.md", "Be kind.") }, args: []string{"--append-system-prompt-file", "more.md"}, sent: "Be kind."},
	"Instructions.NoContextFiles": {before: func(h *there) { write(h.t, h.dir, "AGENTS.md", "Use tabs.") }, args: []string{"--no-context-files"}, check: func(h *there, _, _ string, _ int) {
		if strings.Contains(h.sent(), "Use tabs.") {
			h.t.Error("the context file was read")
		}
	}},

	"Permissions.Mode":       {args: []string{"--permission-mode", "plan"}, built: has(func(m *runs.Made) policy.Mode { return m.Options.Permissions.Mode }, policy.ModePlan)},
	"Permissions.Allow":      {args: []string{"--allowed-tools", "Bash(echo:*)", "--no-sandbox"}, answers: []string{calls("echo allowed-$((1+1))"), saysDone}, sent: "allowed-2"},
	"Permissions.Deny":       {args: []string{"--disallowed-tools", "Write"}, built: func(_ *there, m *runs.Made) bool { _, ok := m.Options.Tools.Lookup("Write"); return !ok }},
	"Permissions.Settings":   {args: []string{"--settings", `{"permissions": {"deny": ["Write"]}}`}, built: func(_ *there, m *runs.Made) bool { _, ok := m.Options.Tools.Lookup("Write"); return !ok }},
	"Permissions.AskTimeout": {args: []string{"--ask-timeout", "7m"}, built: has(func(m *runs.Made) time.Duration { return m.Options.AskTimeout }, 7*time.Minute)},
	"Permissions.OnAsk": {args: []string{"--on-ask", "fail"}, answers: []string{calls("touch x"), saysDone}, check: func(h *there, _, errs string, code int) {
		if code != outcome.Approval.Exit {
			h.t.Errorf("exit code %d: %s", code, errs)
		}
	}},

	"Sandbox.Off": {args: []string{"--no-sandbox"}, built: has(func(m *runs.Made) string { return m.Options.Sandbox }, "")},
	"Hooks.Off": {args: []string{"--no-hooks", "--settings", "hooks.json"}, before: func(h *there) {
		write(h.t, h.dir, "hooks.json", `{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch fired"}]}]}}`)
	}, check: func(h *there, _, errs string, code int) {
		if _, err := os.Stat(filepath.Join(h.dir, "fired")); err == nil || code != 0 {
			h.t.Errorf("exit code %d, and the hook ran: %v: %s", code, err == nil, errs)
		}
	}},
	"Hooks.Setup": {args: []string{"--init"}, built: has(func(m *runs.Made) string { return m.Options.Setup }, "init")},
	"MCP.Configs": {args: []string{"--mcp-config", oneServer, "--output-format", "stream-json"}, check: func(h *there, out, errs string, code int) {
		if !strings.Contains(out, `"clock"`) {
			h.t.Errorf("exit code %d: %s%s", code, out, errs)
		}
	}},
	"MCP.Strict": {args: []string{"--strict-mcp-config", "--settings", oneServer, "--output-format", "stream-json"}, check: func(h *there, out, errs string, code int) {
		if strings.Contains(out, `"clock"`) {
			h.t.Errorf("exit code %d: %s%s", code, out, errs)
		}
	}},
	"Agents": {args: []string{"--agents", `{"tester": {"description": "runs the tests", "prompt": "Run them."}}`}, sent: "runs the tests"},
	"Tools": {body: func(h *there) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "go", Cwd: h.dir, Tools: []string{"Read"}, Session: runspec.Session{ID: "s"}}}
	}, built: func(_ *there, m *runs.Made) bool {
		return reflect.DeepEqual(tools.Names(m.Options.Tools), []string{"Read"})
	}},
	"Strategy": {body: func(h *there) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "go", Cwd: h.dir, Strategy: []byte(oneAgent), Session: runspec.Session{ID: "s"}}}
	}, sent: "I am the writer.", gone: true},
	"StrategyPath": {before: func(h *there) { write(h.t, h.dir, "s.json", oneAgent) }, body: func(h *there) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "go", Cwd: h.dir, StrategyPath: filepath.Join(h.dir, "s.json"), Session: runspec.Session{ID: "s"}}}
	}, sent: "I am the writer.", gone: true},
	"Environment.Variables": {check: func(h *there, _, _ string, _ int) {
		spec := h.recorded()
		if b, _ := json.Marshal(spec); strings.Contains(string(b), "key-of-ann") || !slices.Contains(spec.Environment.Variables, "OPENAI_API_KEY") {
			h.t.Errorf("on record is %s", b)
		}
		p, _, _ := sitDown(h.dir, environ(h.dir))
		m := &maker{p: p, home: filepath.Join(h.dir, "home"), log: slog.New(slog.DiscardHandler)}
		_, err := m.make(h.t.Context(), runs.Need{Run: "s", Session: "s", Spec: *spec, Agent: strategy.Agent{Name: "agent", Type: strategy.LLM}})
		if err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
			h.t.Errorf("without its variable: %v", err)
		}
	}},
	"Environment.From": {before: func(h *there) {
		h.env = slices.DeleteFunc(h.env, func(s string) bool { return strings.HasPrefix(s, "OPENAI_API_KEY=") })
	},
		args: []string{"--env-from", "OPENAI_API_KEY=command:echo from-a-helper"}, sent: "Bearer from-a-helper"},
	"Limits.MaxTurns":     {args: []string{"--max-turns", "3"}, built: has(func(m *runs.Made) int { return m.Options.MaxTurns }, 3)},
	"Limits.MaxBudgetUSD": {args: []string{"--model", "scripted/play.yaml", "--max-budget-usd", "5"}, built: has(func(m *runs.Made) float64 { return m.Options.MaxBudgetUSD }, 5)},
	"Compaction.Off":      {args: []string{"--no-compact"}, built: has(func(m *runs.Made) bool { return m.Options.Compact.Off }, true)},
	"Compaction.Items":    {args: []string{"--compact-items", "9"}, built: has(func(m *runs.Made) int { return m.Options.Compact.Items }, 9)},
}

// TestEveryFieldOfASpecTakesEffectThroughADaemon fails for a field that has no proof.
func TestEveryFieldOfASpecTakesEffectThroughADaemon(t *testing.T) {
	var each func(typ reflect.Type, index []int, at string)
	each = func(typ reflect.Type, index []int, at string) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, here := strings.TrimPrefix(at+"."+f.Name, "."), append(slices.Clone(index), i)
			if f.Type.Kind() == reflect.Struct {
				each(f.Type, here, name)
				continue
			}
			p, ok := proofs[name]
			if !ok {
				t.Errorf("%s has no proof that it takes effect through a daemon", name)
				continue
			}
			t.Run(name, func(t *testing.T) { p.try(t, here) })
		}
	}
	each(reflect.TypeFor[runspec.Spec](), nil, "")
}

// A daemon that restarts goes on with a run that was interrupted as its record says.
func TestARestartedDaemonGoesOnWithTheSameSpec(t *testing.T) {
	h := newThere(t)
	write(t, h.dir, "play.yaml", hangingPlay)
	p, _, errs := sitDown(h.dir, h.env, "run", "--session-id", "s", "--model", "scripted/play.yaml", "--append-system-prompt", "Be kind.",
		"--max-turns", "7", "--disallowed-tools", "Write", "--no-hooks", "--ask-timeout", "7m", "--init", "--settings", `{"permissions": {"deny": ["Edit"]}}`, "go")
	code := make(chan int, 1)
	go func() { code <- p.Run(t.Context()) }()
	waitFor(t, func() bool { r, err := h.d.Run(t.Context(), "s"); return err == nil && r.Status == api.StatusRunning })
	began := h.recorded()
	h.stop()
	if got := <-code; got == 0 {
		t.Errorf("exit code %d: %s", got, errs)
	}
	h.d, h.stop = serve(t, h.dir, append(h.env, "HOLDFAST_MODEL="))
	waitFor(t, func() bool {
		r, err := h.d.Run(t.Context(), "s")
		return err == nil && !r.Status.Ended() || err == nil && r.Status == api.StatusInterrupted
	})
	if r, err := h.d.Run(t.Context(), "s"); err != nil || r.Status == api.StatusInterrupted { // the daemon may have resumed it by itself
		if _, err := h.d.ContinueRun(t.Context(), "s", ""); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool { return h.recorded() != nil && h.recorded().Hooks.Setup == "" })
	want := began.Next("")
	if got := h.recorded(); !reflect.DeepEqual(*got, want) || want.Limits.MaxTurns != 7 {
		t.Errorf("it went on with\n%+v\nnot with\n%+v", *got, want)
	}
	if _, err := h.d.StopRun(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
}

// What would be a secret on record is refused, with what to do instead.
func TestNoSecretIsPutOnRecord(t *testing.T) {
	h := newThere(t)
	p, _, errs := sitDown(h.dir, h.env, "run", "--session-id", "s", "--mcp-config",
		`{"mcpServers": {"hub": {"type": "http", "url": "http://127.0.0.1:9", "headers": {"Authorization": "Bearer gh`+"p_"+`0123456789abcdefghijABCDEFGHIJ012345"}}}}`, "go")
	if code := p.Run(t.Context()); code == 0 || !strings.Contains(errs.String(), "mcp.configs holds a secret") || !strings.Contains(errs.String(), "${API_KEY}") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestStructuredResultsAreShown(t *testing.T) {
	r := tool.Result{Content: []transcript.Part{transcript.Structured{Value: []byte(`{"degrees":21}`)}}}
	if got := resultText(r); got != `{"degrees":21}` {
		t.Errorf("shown as %q", got)
	}
}
