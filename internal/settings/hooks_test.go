package settings_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// hooked is a settings file with one hook of PreToolUse and more keys.
func hooked(command, more string) string {
	return `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "` + command + `"}]}]}` + more + `}`
}

// states says of each hook whether it runs: "command status".
func states(s *settings.Settings) string {
	var list []string
	for i := range s.Hooks {
		list = append(list, s.Hooks[i].Command+" "+string(s.Hooks[i].Status))
	}
	return strings.Join(list, ", ")
}

// Hooks run in the order of their layers, the strongest first, with their places.
func TestHookLayers(t *testing.T) {
	p := newTestHome(t)
	p.write("etc/settings.json", hooked("managed", ""))
	p.write("etc/settings.d/9.json", hooked("managed9", ""))
	p.write("project/.holdfast/settings.local.json", hooked("local", ""))
	p.write("project/.holdfast/settings.json", hooked("project", ""))
	p.write("home/settings.json", "\n"+hooked("user", ""))
	p.trust()
	o := p.options()
	o.Files = []string{hooked("flag1", ""), hooked("flag2", "")}
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range s.ActiveHooks() {
		names = append(names, d.Command)
	}
	if got := strings.Join(names, " "); got != "managed9 managed flag2 flag1 local project user" {
		t.Error(got)
	}
	last := s.Hooks[len(s.Hooks)-1]
	if o := last.Origin; o.Layer != layernames.User || o.File != p.path("home/settings.json") || o.Line != 2 || o.Col == 0 || last.Digest == "" {
		t.Errorf("%+v", last)
	}
	if r := hook.New(&hook.Options{}); r.Register(s.ActiveHooks()...) == nil {
		t.Error("commands are registered without a runner")
	}
}

// Hooks of a folder do not run before they are trusted, and each not after it or a
// file that it names has changed.
func TestHookTrust(t *testing.T) {
	p := newTestHome(t)
	p.write("project/check.sh", "exit 0")
	both := strings.Replace(hooked("./check.sh", ""), `}]}]}`, `}, {"type": "command", "command": "true"}]}]}`, 1)
	p.write("project/.holdfast/settings.json", both)
	s := p.load()
	if got := states(s); got != "./check.sh untrusted, true untrusted" {
		t.Fatal(got)
	}
	what, hint := s.HookNotice()
	if what != "2 hooks of this folder are not trusted and do not run: PreToolUse" || hint != "holdfast trust --hooks-only "+p.path("project") {
		t.Error(what, hint)
	}
	if len(s.ActiveHooks()) != 0 {
		t.Error("untrusted hooks run")
	}
	p.trust()
	if s = p.load(); states(s) != "./check.sh trusted, true trusted" {
		t.Fatal(states(s))
	}
	if what, _ := s.HookNotice(); what != "" {
		t.Error(what)
	}
	p.write("project/check.sh", "exit 1")
	if s = p.load(); states(s) != "./check.sh modified, true trusted" {
		t.Fatal(states(s))
	}
	if what, _ := s.HookNotice(); what != "1 hook of this folder is not trusted and does not run: PreToolUse; changed since: ./check.sh" {
		t.Error(what)
	}
	p.write("project/check.sh", "exit 0")
	// Other settings may change: the hooks stay trusted, what the settings allow does not.
	p.write("project/.holdfast/settings.json", strings.Replace(both, "{", `{"permissions": {"allow": ["Read"]}, `, 1))
	if s = p.load(); states(s) != "./check.sh trusted, true trusted" || len(s.Ignored) == 0 {
		t.Fatal(states(s), s.Ignored)
	}
	p.write("project/.holdfast/settings.json", strings.Replace(both, `"true"`, `"true", "timeout": 5`, 1))
	if s = p.load(); states(s) != "./check.sh trusted, true modified" {
		t.Fatal(states(s))
	}
	if err := os.Remove(p.path("project/check.sh")); err != nil {
		t.Fatal(err)
	}
	if s = p.load(); states(s) != "./check.sh modified, true modified" {
		t.Fatal(states(s))
	}
}

// Hooks can be trusted without the rest; and a list from before there were hooks
// trusts the rest without the hooks.
func TestTrustHooksAlone(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.holdfast/settings.json", hooked("true", `, "permissions": {"allow": ["Read"]}`))
	list, err := settings.OpenTrust(p.path("home"))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := list.AddHooks(p.load(), time.Unix(0, 0)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if s := p.load(); states(s) != "true trusted" || len(s.Rules) != 0 {
		t.Error(states(s), s.Rules)
	}
	p.trust()
	list, err = settings.OpenTrust(p.path("home"))
	if err != nil {
		t.Fatal(err)
	}
	old := list.List()[0]
	p.write("home/trust.json", `{"folders": {"`+old.Folder+`": {"digest": "`+old.Digest+`", "at": "2026-01-01T00:00:00Z"}}}`)
	if s := p.load(); states(s) != "true untrusted" || len(s.Rules) != 1 {
		t.Error(states(s), s.Rules)
	}
	p.write("project/.holdfast/settings.json", `{}`)
	if list, err = settings.OpenTrust(p.path("home")); err != nil {
		t.Fatal(err)
	}
	if ok, err := list.AddHooks(p.load(), time.Unix(0, 0)); ok || err != nil {
		t.Error("there are no hooks to trust", ok, err)
	}
}

// A hook that cannot be sealed does not run; where nobody needs to trust it, that is
// told as an error.
func TestUnreadableScript(t *testing.T) {
	testneed.User(t)
	p := newTestHome(t)
	p.write("project/check.sh", "exit 0")
	p.write("project/.holdfast/settings.json", hooked("./check.sh", ""))
	unreadable := func() {
		t.Helper()
		if err := os.Chmod(p.path("project/check.sh"), 0); err != nil {
			t.Fatal(err)
		}
	}
	unreadable()
	if s := p.load(); states(s) != "./check.sh untrusted" || !strings.Contains(s.Hooks[0].Reason, "cannot be read") {
		t.Error(states(s), s.Hooks[0].Reason)
	}
	if err := os.Chmod(p.path("project/check.sh"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.trust()
	unreadable()
	if s := p.load(); states(s) != "./check.sh modified" || s.Hooks[0].Reason == "" {
		t.Error(states(s))
	}
	p.write("home/settings.json", hooked("./check.sh", ""))
	if _, err := settings.Load(p.options()); !errors.Is(err, settings.ErrInvalid) {
		t.Error(err)
	}
}

func TestHookSwitches(t *testing.T) {
	const only, off, on = `, "allowManagedHooksOnly": true`, `, "disableAllHooks": true`, `, "disableAllHooks": false`
	for _, tt := range []struct {
		name, managed, project, user string
		flag                         bool
		want                         string
	}{
		{"nothing", "", "", "", false, "m trusted, p trusted, u trusted"},
		{"managed only", only, "", "", false, "m trusted, p disabled, u disabled"},
		{"user switches off", "", "", off, false, "m trusted, p disabled, u disabled"},
		{"project switches off", "", off, "", false, "m trusted, p disabled, u disabled"},
		{"managed switches off", off, "", "", false, "m disabled, p disabled, u disabled"},
		{"managed keeps on", on, off, off, false, "m trusted, p trusted, u trusted"},
		{"project beats user", "", on, off, false, "m trusted, p trusted, u trusted"},
		{"flag", "", "", "", true, "m trusted, p disabled, u disabled"},
		{"flag against managed", on, "", "", true, "m trusted, p trusted, u trusted"},
	} {
		p := newTestHome(t)
		p.write("etc/settings.json", hooked("m", tt.managed))
		p.write("project/.holdfast/settings.json", hooked("p", tt.project))
		p.write("home/settings.json", hooked("u", tt.user))
		p.trust()
		o := p.options()
		o.Flags.NoHooks = tt.flag
		s, err := settings.Load(o)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if got := states(s); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		for i := range s.Hooks {
			if h := &s.Hooks[i]; (h.Status == settings.HookTrusted) != (h.Reason == "") {
				t.Errorf("%s: %+v", tt.name, h)
			}
		}
	}
}

// A file's hooksSandbox is for its own commands that do not say it themselves, and
// is a part of what is trusted.
func TestHooksSandbox(t *testing.T) {
	p := newTestHome(t)
	block := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}, {"type": "command", "command": "false", "sandbox": "read"}]}]}`
	p.write("home/settings.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "date"}]}]}}`)
	p.write("project/.holdfast/settings.json", block+"}")
	p.trust()
	before := p.load().Hooks
	p.write("project/.holdfast/settings.json", block+`, "hooksSandbox": "write"}`)
	after := p.load().Hooks
	if got := []string{after[0].Sandbox, after[1].Sandbox, after[2].Sandbox}; !slices.Equal(got, []string{"write", "read", ""}) {
		t.Errorf("access %q", got)
	}
	if before[0].Status != settings.HookTrusted || after[0].Status != settings.HookModified || after[1].Status != settings.HookTrusted {
		t.Errorf("%s, then %s and %s", before[0].Status, after[0].Status, after[1].Status)
	}
}

// A folder that is not trusted may be stricter; it cannot switch off what watches it.
func TestUntrustedHookKeys(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", hooked("u", ""))
	p.write("project/.holdfast/settings.json", `{"disableAllHooks": true, "strictHooks": true, "allowedHttpHookUrls": ["https://evil.example/*"],
		"httpHookAllowedEnvVars": ["TOKEN"], "secrets": {"mask": false, "patterns": [{"id": "all", "words": ["a"], "expr": "a.*"}]}}`)
	s := p.load()
	if states(s) != "u trusted" || !s.StrictHooks.Value || !s.HookOptions().Strict || len(s.HookURLs) > 0 || len(s.HookEnv) > 0 ||
		!s.Secrets.Mask.Value || len(s.Secrets.Patterns) > 0 {
		t.Errorf("%s %+v", states(s), s)
	}
	if len(s.Ignored) != 5 {
		t.Errorf("%+v", s.Ignored)
	}
	p.trust()
	s = p.load()
	if states(s) != "u disabled" || len(s.HookURLs) != 1 || len(s.HookEnv) != 1 || !s.HookEnvLimited || s.Secrets.Mask.Value || len(s.Secrets.Patterns) != 1 {
		t.Errorf("%s %+v", states(s), s)
	}
	if m, err := s.Masker(); m != nil || err != nil {
		t.Error("a mask that is switched off", err)
	}
	p.write("home/settings.json", `{"strictHooks": true}`)
	p.write("project/.holdfast/settings.json", `{"strictHooks": false}`)
	if s = p.load(); !s.StrictHooks.Value || len(s.Ignored) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestBadHookKeys(t *testing.T) {
	for _, tt := range []struct {
		text      string
		col       int
		what      string
		managedOK bool
	}{
		{`{"hooks": []}`, 11, "hooks is a list, want an object", false},
		{`{"hooks": {"PreTolUse": []}}`, 12, `hooks.PreTolUse: unknown event "PreTolUse"`, false},
		{`{"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}}`, 47, "hooks.PreToolUse[0].hooks[0].type: ", false},
		{`{"strictHooks": "yes"}`, 17, "strictHooks is a text, want true or false", false},
		{`{"hooksSandbox": "all"}`, 18, `hooksSandbox: unknown project access "all"`, false},
		{`{"disableAllHooks": null}`, 21, "disableAllHooks is null", false},
		{`{"allowManagedHooksOnly": true}`, 27, "only managed settings can set this", true},
		{`{"allowedHttpHookUrls": ["ftp://x/*"]}`, 26, "allowedHttpHookUrls[0]: ", false},
		{`{"httpHookAllowedEnvVars": ["$TOKEN"]}`, 29, `httpHookAllowedEnvVars[0]: invalid variable name "$TOKEN"`, false},
		{`{"secrets": {"masks": true}}`, 14, `unknown key "secrets.masks"`, false},
		{`{"secrets": {"patterns": {}}}`, 26, "secrets.patterns is an object, want a list", false},
		{`{"secrets": {"patterns": [{"id": "x", "expr": "("}]}}`, 27, "secrets.patterns: ", false},
		{`{"secrets": {"patterns": [{"id": "x", "regex": "x"}]}}`, 27, "secrets.patterns: ", false},
	} {
		for _, file := range []string{"home/settings.json", "etc/settings.json"} {
			p := newTestHome(t)
			p.write(file, tt.text)
			_, err := settings.Load(p.options())
			if tt.managedOK && file == "etc/settings.json" {
				if err != nil {
					t.Error(tt.text, err)
				}
				continue
			}
			e, ok := errors.AsType[*settings.Error](err)
			if !ok || !strings.Contains(e.Problems[0].Detail, tt.what) || e.Problems[0].Col != tt.col || e.Problems[0].Line != 1 {
				t.Errorf("%s: %v", tt.text, err)
			}
		}
	}
}

// ran is a runner that notes what it would run.
type ran struct{ list []string }

func (r *ran) Run(_ context.Context, d *hook.Definition, _ *hook.Input) (hook.RunResult, error) {
	r.list = append(r.list, d.Command)
	return hook.RunResult{}, nil
}

// A script that changes while the agent runs is no longer the hook that was trusted.
func TestPinHooks(t *testing.T) {
	p := newTestHome(t)
	p.write("project/check.sh", "exit 0")
	p.write("project/sub/tool.sh", "exit 0")
	p.write("home/settings.json", hooked("./check.sh # of the user", ""))
	p.write("project/.holdfast/settings.json", strings.Replace(hooked("./check.sh", ""), `}]}]}`,
		`}]}], "PostToolUse": [{"hooks": [{"type": "command", "command": "$CLAUDE_PROJECT_DIR/sub/tool.sh"}]}]}`, 1))
	p.trust()
	s := p.load()
	inner := &ran{}
	pinned := s.PinHooks(inner)
	run := func(i int, cwd string) (hook.RunResult, error) {
		d := s.Hooks[i].Definition
		return pinned.Run(t.Context(), &d, &hook.Input{Event: d.Event, CWD: cwd})
	}
	const guard, other, users = 0, 1, 2
	if states(s) != "./check.sh trusted, $CLAUDE_PROJECT_DIR/sub/tool.sh trusted, ./check.sh # of the user trusted" {
		t.Fatal(states(s))
	}
	for _, cwd := range []string{"", p.path("project"), p.path("project/sub")} {
		for _, i := range []int{guard, other} {
			if a, err := run(i, cwd); err != nil || a.Output != nil {
				t.Errorf("in %s: %+v %v", cwd, a, err)
			}
		}
	}
	// The same words name another file in another folder.
	p.write("project/sub/check.sh", "exit 0")
	if a, err := run(guard, p.path("project/sub")); err != nil || a.Output == nil || !a.Output.Block || !strings.Contains(a.Output.Reason, "$CLAUDE_PROJECT_DIR") {
		t.Errorf("%+v %v", a, err)
	}
	if a, err := run(other, p.path("project/sub")); err != nil || a.Output != nil {
		t.Errorf("%+v %v", a, err)
	}
	p.write("project/check.sh", "echo changed")
	p.write("project/sub/tool.sh", "echo changed")
	n := len(inner.list)
	if a, err := run(guard, p.path("project")); err != nil || a.Output == nil || !a.Output.Block || !strings.Contains(a.Output.Reason, "has changed") {
		t.Errorf("a hook that guards was written away: %+v %v", a, err)
	}
	if _, err := run(other, p.path("project")); err == nil {
		t.Error("a hook that was changed ran")
	}
	if len(inner.list) != n {
		t.Errorf("%v ran", inner.list[n:])
	}
	if a, err := run(users, p.path("project")); err != nil || a.Output == nil || !a.Output.Block || len(inner.list) != n {
		t.Errorf("the user's guard was written away: %+v %v", a, err)
	}
	later := s.Hooks[users].Definition
	later.Event = hook.PostToolUse
	if later.ComputeDigest(p.path("project")) != nil {
		t.Fatal("no digest")
	}
	p.write("project/check.sh", "echo again")
	in := &hook.Input{Event: hook.PostToolUse, CWD: p.path("project")}
	if _, err := pinned.Run(t.Context(), &later, in); err != nil || len(inner.list) != n+1 {
		t.Errorf("a hook of the user in the sandbox, which guards nothing: %v", err)
	}
	later.Sandbox = "off"
	if _, err := pinned.Run(t.Context(), &later, in); err == nil || len(inner.list) != n+1 {
		t.Error("what the agent wrote ran without a sandbox")
	}
}

// What a layer says is masked besides the built-in patterns.
func TestSecretPatterns(t *testing.T) {
	p := newTestHome(t)
	p.write("etc/settings.json", `{"secrets": {"mask": true}}`)
	p.write("home/settings.json", `{"secrets": {"mask": false, "patterns": [{"id": "ours", "words": ["ours_"], "expr": "ours_[0-9]{4}"}]}}`)
	s := p.load()
	m, err := s.Masker()
	if err != nil || m == nil {
		t.Fatal("the user switches off what the administrator wants", err)
	}
	if got, found := m.Text("x ours_1234 y"); got != "x [secret:ours] y" || len(found) != 1 {
		t.Error(got, found)
	}
}

// What a hook may do with the project when it does not say: a project's, and another program's, write it.
func TestHookAccess(t *testing.T) {
	const hooks = `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}, {"type": "command", "command": "false", "sandbox": "read"}, {"type": "http", "url": "http://127.0.0.1/"}]}]}}`
	p := newTestHome(t)
	for file, want := range map[string]string{
		"project/.holdfast/settings.json": "write read ", "project/.claude/settings.json": "write read ", "user/.claude/settings.json": "write read ",
		"home/settings.json": "read read ", "etc/settings.json": "read read ",
	} {
		p.write(file, hooks)
		s := p.load()
		var got []string
		for i := range s.Hooks {
			got = append(got, s.HookAccess(&s.Hooks[i].Definition))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", file, got)
		}
		if err := os.Remove(p.path(file)); err != nil {
			t.Fatal(err)
		}
	}
	p.write("project/.holdfast/settings.json", strings.Replace(hooks, "{", `{"hooksSandbox": "read", `, 1))
	if s := p.load(); s.HookAccess(&s.Hooks[0].Definition) != "read" {
		t.Error("the file's word does not count")
	}
}
