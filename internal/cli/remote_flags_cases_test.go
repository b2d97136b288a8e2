package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func mustRun(h *remoteEnv, args ...string) {
	h.t.Helper()
	if out, errs, code := h.run(args...); code != 0 {
		h.t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
}

func initRepository(h *remoteEnv) {
	h.t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", h.dir}, args...)...).CombinedOutput(); err != nil {
			h.t.Skipf("git: %v: %s", err, out)
		}
	}
}

// writePlugin writes a plugin with one skill.
func writePlugin(h *remoteEnv) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Join(h.dir, "kit/skills/up"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	write(h.t, h.dir, "kit/skills/up/SKILL.md", "---\nname: up\ndescription: Writes in capitals.\n---\nx\n")
}

// dot returns a PNG image of one pixel.
func dot() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1)))
	return b.Bytes()
}

func writeImage(h *remoteEnv) {
	h.t.Helper()
	write(h.t, h.dir, "dot.png", string(dot()))
}

// createWorkspace creates a workspace.
func createWorkspace(h *remoteEnv) {
	h.t.Helper()
	p, _, errs := newProgram(h.dir, h.env, "workspace", "create", "blog")
	if code := Run(h.t.Context(), p); code != 0 {
		h.t.Fatalf("exit code %d: %s", code, errs)
	}
}

// checkParts checks what the daemon builds for a workspace from the flags. To start it would need a container.
func checkParts(c flags.WorkspaceFlags, check func(m *compose.WorkspaceParts) bool) func(h *remoteEnv) {
	return func(h *remoteEnv) {
		h.t.Helper()
		createWorkspace(h)
		p, _, _ := newProgram(h.dir, h.env)
		spec, err := (&flags.RunFlags{WorkspaceFlags: c}).Spec(p, h.dir, nil)
		if err != nil {
			h.t.Fatal(err)
		}
		rt := h.runtime()
		in, err := compose.OpenWorkspace(h.t.Context(), rt.Workspaces, spec.Workspace, spec.Container.Agent)
		if err != nil {
			h.t.Fatal(err)
		}
		parts, err := compose.MakeInWorkspace(h.t.Context(), &compose.Request{Env: rt.Env, Spec: &spec, Cwd: h.dir}, in)
		if err != nil {
			h.t.Fatal(err)
		}
		defer parts.Close()
		if !check(parts) {
			h.t.Errorf("built for %+v: %+v", spec, parts.Options)
		}
	}
}

// runAndRewind runs twice, and then rewinds to the first answer.
func runAndRewind(h *remoteEnv) {
	mustRun(h, "apples")
	mustRun(h, "bananas")
	item := ""
	for e, err := range h.d.Events(h.t.Context(), "s", 0) {
		if err != nil {
			h.t.Fatal(err)
		}
		if e.CaughtUp {
			break
		}
		if e.Record == nil || e.Record.Kind != session.KindItem {
			continue
		}
		it, err := record.ReadItem(e.Record.Payload)
		if err != nil {
			h.t.Fatal(err)
		}
		if it.Item.Role() == transcript.RoleAssistant && item == "" {
			item = it.Item.ID()
		}
	}
	mustRun(h, "--at", item, "third")
	if last := h.requests[len(h.requests)-1]; strings.Contains(last, "bananas") || !strings.Contains(last, "apples") {
		h.t.Errorf("the model was sent %s", last)
	}
}

// takeOver takes over a session from another process.
func takeOver(h *remoteEnv) {
	mustRun(h, "first")
	p, _, _ := newProgram(h.dir, h.env)
	sessions, closeStore, err := p.OpenStore(h.t.Context(), "")
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
		h.t.Errorf("the session was not busy: %s%s", out, errs)
	}
	mustRun(h, "--takeover", "third")
}

const oneAgent = `{"name": "one", "version": "1", "agents": {"writer": {"systemPrompt": "I am the writer."}}, "flow": {"type": "sequential", "name": "all", "steps": [{"agent": "writer", "name": "write"}]}}`

func has[T any](get func(made *runs.AgentParts) T, want T) func(*remoteEnv, *runs.AgentParts) bool {
	return func(_ *remoteEnv, made *runs.AgentParts) bool { return reflect.DeepEqual(get(made), want) }
}

const oneServer = `{"mcpServers": {"clock": {"command": "/nonexistent/clock"}}}`

// fieldChecks has one entry for each field of [runspec.Spec].
var fieldChecks = map[string]fieldCheck{
	"Prompt":           {sent: `"go"`, gone: true},
	"Images":           {before: writeImage, args: []string{"--image", "dot.png"}, sent: `"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(dot()) + `"`, gone: true},
	"Model":            {args: []string{"--model", "openai/other"}, sent: `"model":"other"`},
	"Cwd":              {before: func(h *remoteEnv) { _ = os.Mkdir(filepath.Join(h.dir, "sub"), 0o700) }, args: []string{"--cwd", "sub"}, sent: `Working folder: DIR/sub`},
	"AddDirs":          {before: func(h *remoteEnv) { _ = os.Mkdir(filepath.Join(h.dir, "lib"), 0o700) }, args: []string{"--cwd", "lib", "--add-dir", "."}, sent: `Additional folder: DIR`},
	"PluginDirs":       {before: writePlugin, args: []string{"--plugin-dir", "kit"}, sent: "kit:up: Writes in capitals."},
	"Worktree.Enabled": {before: initRepository, args: []string{"--worktree", "--allowed-tools", "Bash", "--no-sandbox"}, answers: []string{calls("pwd"), answersDone}, sent: "worktrees/run-s"},
	"Worktree.Name":    {before: initRepository, args: []string{"--worktree=fix", "--allowed-tools", "Bash", "--no-sandbox"}, answers: []string{calls("pwd"), answersDone}, sent: "worktrees/fix"},

	"Workspace":           {alone: checkParts(flags.WorkspaceFlags{Workspace: "blog"}, func(m *compose.WorkspaceParts) bool { return m.Workspace.Settings.Slug == "blog" })},
	"Container.Agent":     {alone: checkParts(flags.WorkspaceFlags{Workspace: "blog", Agent: "claude"}, func(m *compose.WorkspaceParts) bool { return m.Workspace.Kind == "claude" })},
	"Container.Ephemeral": {alone: checkParts(flags.WorkspaceFlags{Workspace: "blog", Ephemeral: true}, func(m *compose.WorkspaceParts) bool { return m.Options.Ephemeral })},

	"Session.ID":       {gone: true},
	"Session.ForkAt":   {alone: runAndRewind},
	"Session.Takeover": {alone: takeOver},
	"Session.Resume": {before: func(h *remoteEnv) { mustRun(h, "--name", "work", "first") }, gone: true, sent: "second", body: func(h *remoteEnv) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "second", Session: runspec.Session{Resume: "work"}}}
	}, check: func(h *remoteEnv, id, _ string, _ int) {
		if id != "s" {
			h.t.Errorf("it went on in %s", id)
		}
	}},
	"Session.Continue": {before: func(h *remoteEnv) { mustRun(h, "first") }, gone: true, sent: "second", body: func(h *remoteEnv) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "second", Cwd: h.dir, Session: runspec.Session{Continue: true}}}
	}, check: func(h *remoteEnv, id, _ string, _ int) {
		if id != "s" {
			h.t.Errorf("it went on in %s", id)
		}
	}},
	"Session.Fork": {before: func(h *remoteEnv) { mustRun(h, "first") }, gone: true, sent: "second", body: func(h *remoteEnv) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "second", Session: runspec.Session{ID: "s", Fork: true}}}
	}, check: func(h *remoteEnv, id, _ string, _ int) {
		if m, err := h.d.Session(h.t.Context(), id); err != nil || m.Parent != "s" {
			h.t.Errorf("%s: %+v: %v", id, m, err)
		}
	}},
	"Session.WithGrants": {before: func(h *remoteEnv) { mustRun(h, "first") }, gone: true, sent: "second", body: func(h *remoteEnv) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "second", Session: runspec.Session{ID: "s", Fork: true, WithGrants: true}}}
	}, check: func(h *remoteEnv, id, _ string, _ int) {
		if m, err := h.d.Session(h.t.Context(), id); err != nil || m.Parent != "s" {
			h.t.Errorf("%s: %+v: %v", id, m, err)
		}
	}},
	"Session.Title": {args: []string{"--name", "shopping"}, check: func(h *remoteEnv, _, _ string, _ int) {
		if m, err := h.d.Session(h.t.Context(), "s"); err != nil || m.Title != "shopping" {
			h.t.Errorf("%+v: %v", m, err)
		}
	}},
	"Session.NoPersist": {args: []string{"--no-session-persistence"}, refused: true, check: func(h *remoteEnv, _, errs string, code int) {
		if code != outcome.Usage.Exit || !strings.Contains(errs, "add --no-daemon") {
			h.t.Errorf("exit code %d: %s", code, errs)
		}
	}},

	"ModelOptions.Fallback":  {args: []string{"--fallback-model", "openai/spare"}, built: func(_ *remoteEnv, m *runs.AgentParts) bool { return m.Options.Model.Fallback.Info().Model == "spare" }},
	"ModelOptions.MaxTokens": {args: []string{"--max-tokens", "77"}, sent: `:77`, built: has(func(m *runs.AgentParts) int { return m.Options.Model.MaxTokens }, 77)},
	"ModelOptions.Effort":    {args: []string{"--effort", "low"}, built: has(func(m *runs.AgentParts) string { return m.Options.Model.Effort }, "low")},
	"ModelOptions.BaseURL": {args: []string{"--base-url", "http://127.0.0.1:9/v1"}, check: func(h *remoteEnv, _, errs string, code int) {
		if code == 0 || h.sent() != "" || !strings.Contains(errs, "127.0.0.1:9") {
			h.t.Errorf("exit code %d: %s", code, errs)
		}
	}},
	"Instructions.System":       {args: []string{"--system-prompt", "Be a pirate."}, sent: "Be a pirate."},
	"Instructions.AppendSystem": {before: func(h *remoteEnv) { write(h.t, h.dir, "more.md", "Be kind.") }, args: []string{"--append-system-prompt-file", "more.md"}, sent: "Be kind."},
	"Instructions.NoContextFiles": {before: func(h *remoteEnv) { write(h.t, h.dir, "AGENTS.md", "Use tabs.") }, args: []string{"--no-context-files"}, check: func(h *remoteEnv, _, _ string, _ int) {
		if strings.Contains(h.sent(), "Use tabs.") {
			h.t.Error("the context file was read")
		}
	}},

	"Permissions.Mode":       {args: []string{"--permission-mode", "plan"}, built: has(func(m *runs.AgentParts) policy.Mode { return m.Options.Permissions.Config.Mode }, policy.ModePlan)},
	"Permissions.Allow":      {args: []string{"--allowed-tools", "Bash(echo:*)", "--no-sandbox"}, answers: []string{calls("echo allowed-$((1+1))"), answersDone}, sent: "allowed-2"},
	"Permissions.Deny":       {args: []string{"--disallowed-tools", "Write"}, built: func(_ *remoteEnv, m *runs.AgentParts) bool { _, ok := m.Options.Tools.Lookup("Write"); return !ok }},
	"Permissions.Settings":   {args: []string{"--settings", `{"permissions": {"deny": ["Write"]}}`}, built: func(_ *remoteEnv, m *runs.AgentParts) bool { _, ok := m.Options.Tools.Lookup("Write"); return !ok }},
	"Permissions.AskTimeout": {args: []string{"--ask-timeout", "7m"}, built: has(func(m *runs.AgentParts) time.Duration { return m.Options.Permissions.AskTimeout }, 7*time.Minute)},
	"Permissions.Unattended": {args: []string{"--on-ask", "fail"}, answers: []string{calls("touch x"), answersDone}, check: func(h *remoteEnv, _, errs string, code int) {
		if code != outcome.Approval.Exit {
			h.t.Errorf("exit code %d: %s", code, errs)
		}
	}},

	"Sandbox.Disabled": {args: []string{"--no-sandbox"}, built: has(func(m *runs.AgentParts) string { return m.Options.Permissions.Sandbox }, "")},
	"Hooks.Disabled": {args: []string{"--no-hooks", "--settings", "hooks.json"}, before: func(h *remoteEnv) {
		write(h.t, h.dir, "hooks.json", `{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch fired"}]}]}}`)
	}, check: func(h *remoteEnv, _, errs string, code int) {
		if _, err := os.Stat(filepath.Join(h.dir, "fired")); err == nil || code != 0 {
			h.t.Errorf("exit code %d, and the hook ran: %v: %s", code, err == nil, errs)
		}
	}},
	"Hooks.Setup": {args: []string{"--init"}, built: has(func(m *runs.AgentParts) string { return m.Options.Hooks.Setup }, "init")},
	"MCP.Configs": {args: []string{"--mcp-config", oneServer, "--output-format", "stream-json"}, check: func(h *remoteEnv, out, errs string, code int) {
		if !strings.Contains(out, `"clock"`) {
			h.t.Errorf("exit code %d: %s%s", code, out, errs)
		}
	}},
	"MCP.Strict": {args: []string{"--strict-mcp-config", "--settings", oneServer, "--output-format", "stream-json"}, check: func(h *remoteEnv, out, errs string, code int) {
		if strings.Contains(out, `"clock"`) {
			h.t.Errorf("exit code %d: %s%s", code, out, errs)
		}
	}},
	"Agents": {args: []string{"--agents", `{"tester": {"description": "runs the tests", "prompt": "Run them."}}`}, sent: "runs the tests"},
	"Tools": {body: func(h *remoteEnv) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "go", Cwd: h.dir, Tools: []string{"Read"}, Session: runspec.Session{ID: "s"}}}
	}, built: func(_ *remoteEnv, m *runs.AgentParts) bool {
		return reflect.DeepEqual(tools.Names(m.Options.Tools), []string{"Read"})
	}},
	"Strategy": {body: func(h *remoteEnv) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "go", Cwd: h.dir, Strategy: []byte(oneAgent), Session: runspec.Session{ID: "s"}}}
	}, sent: "I am the writer.", gone: true},
	"StrategyPath": {before: func(h *remoteEnv) { write(h.t, h.dir, "s.json", oneAgent) }, body: func(h *remoteEnv) *api.NewRun {
		return &api.NewRun{Environ: h.env, Spec: runspec.Spec{Prompt: "go", Cwd: h.dir, StrategyPath: filepath.Join(h.dir, "s.json"), Session: runspec.Session{ID: "s"}}}
	}, sent: "I am the writer.", gone: true},
	"Environment.Variables": {check: func(h *remoteEnv, _, _ string, _ int) {
		spec := h.recorded()
		if b, _ := json.Marshal(spec); strings.Contains(string(b), "key-of-ann") || !slices.Contains(spec.Environment.Variables, "OPENAI_API_KEY") {
			h.t.Errorf("the recorded value is %s", b)
		}
		h.env = environ(h.dir)
		_, err := h.runtime().Make(h.t.Context(), runs.AgentRequest{Run: "s", Session: "s", Spec: *spec, Agent: strategy.Agent{Name: "agent", Type: strategy.LLM}})
		if err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
			h.t.Errorf("without its variable: %v", err)
		}
	}},
	"Environment.References": {before: func(h *remoteEnv) {
		h.env = slices.DeleteFunc(h.env, func(s string) bool { return strings.HasPrefix(s, "OPENAI_API_KEY=") })
	},
		args: []string{"--env-from", "OPENAI_API_KEY=command:echo from-a-helper"}, sent: "Bearer from-a-helper"},
	"Limits.MaxTurns":     {args: []string{"--max-turns", "3"}, built: has(func(m *runs.AgentParts) int { return m.Options.Limits.MaxTurns }, 3)},
	"Limits.MaxBudgetUSD": {args: []string{"--model", "scripted/play.yaml", "--max-budget-usd", "5"}, built: has(func(m *runs.AgentParts) float64 { return m.Options.Limits.MaxBudgetUSD }, 5)},
	"Compaction.Disabled": {args: []string{"--no-compact"}, built: has(func(m *runs.AgentParts) bool { return m.Options.Compact.Disabled }, true)},
	"Compaction.Items":    {args: []string{"--compact-items", "9"}, built: has(func(m *runs.AgentParts) int { return m.Options.Compact.Items }, 9)},
}
