package settings_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// fire fires an event at the hooks that run.
func fire(t *testing.T, s *settings.Settings, in hook.Input) hook.Outcome {
	t.Helper()
	o := s.HookOptions()
	o.Runner = s.PinHooks(&ran{})
	r := hook.New(&o)
	if err := r.Register(s.ActiveHooks()...); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.Fire(t.Context(), in)
}

// A guard that would block if it failed blocks when it was changed, whatever was
// changed; the others are left out. Trust ends it.
func TestChangedGuardBlocks(t *testing.T) {
	const claude = `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"MORE}]}]}STRICT}`
	const seed = `{"hooks": {"preToolUse": [{"matcher": "Bash", "command": "./check.sh"MORE}]}STRICT}`
	const prompts = `{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "./check.sh", "onFailure": "block"}]}]}}`
	write := func(form, more, strict string) string {
		return strings.NewReplacer("MORE", more, "STRICT", strict).Replace(form)
	}
	bash, edit, prompt := hook.Input{Event: hook.PreToolUse, Tool: hook.ToolCall{Name: "Bash"}}, hook.Input{Event: hook.PreToolUse, Tool: hook.ToolCall{Name: "Edit"}}, hook.Input{Event: hook.UserPromptSubmit}
	for _, tt := range []struct {
		name, before, after string
		blocked, free       hook.Input
	}{
		{"script, onFailure", write(claude, `, "onFailure": "block"`, ""), "", bash, edit},
		{"script, strictHooks", write(claude, "", `, "strictHooks": true`), "", bash, edit},
		{"script, seed", write(seed, "", ""), "", bash, edit},
		{"script, prompt", prompts, "", prompt, bash},
		{"onFailure itself", write(claude, `, "onFailure": "block"`, ""), write(claude, `, "onFailure": "continue"`, ""), bash, edit},
		{"strictHooks itself", write(seed, "", ""), write(seed, `, "onFailure": "continue"`, ""), bash, edit},
		{"if", write(claude, `, "onFailure": "block"`, ""), write(claude, `, "onFailure": "block", "if": "Bash(nothing)"`, ""), bash, edit},
		{"command", write(seed, "", ""), strings.Replace(write(seed, "", ""), "./check.sh", "true", 1), bash, edit},
		{"matcher", write(seed, "", ""), strings.Replace(write(seed, "", ""), "Bash", "Other", 1), bash, prompt},
		{"dialect", write(seed, "", ""), write(claude, "", ""), bash, prompt},
		{"script, may fail", write(claude, "", ""), "", hook.Input{}, bash},
		{"script, onFailure continue", write(seed, `, "onFailure": "continue"`, ""), "", hook.Input{}, bash},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newTestHome(t)
			p.write("project/check.sh", "exit 0")
			p.write("project/.holdfast/settings.json", tt.before)
			p.trust()
			if out := fire(t, p.load(), tt.blocked); out.Block != nil {
				t.Fatalf("%+v", out.Block)
			}
			p.write("project/check.sh", "exit 1")
			if tt.after != "" {
				p.write("project/.holdfast/settings.json", tt.after)
			}
			s := p.load()
			what, hint := s.HookNotice()
			if s.Hooks[0].Status != settings.HookModified || !strings.Contains(hint, "trust --hooks-only") {
				t.Errorf("%+v; %s", s.Hooks[0], hint)
			}
			blocks := tt.blocked.Event != ""
			if strings.Contains(what, "are blocked") != blocks || s.Hooks[0].Blocks != blocks {
				t.Error(what)
			}
			if out := fire(t, s, tt.blocked); blocks && (out.Block == nil || !strings.Contains(out.Block.Text, "holdfast trust --hooks-only")) {
				t.Errorf("%+v", out)
			}
			if out := fire(t, s, tt.free); out.Block != nil {
				t.Errorf("too much is blocked: %+v", out.Block)
			}
			p.trust()
			if out := fire(t, p.load(), tt.blocked); out.Block != nil {
				t.Errorf("trusted again: %+v", out.Block)
			}
		})
	}
}

// A guard that was taken out is told; a folder that was never trusted blocks nothing.
func TestGuardRemoved(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.holdfast/settings.json", hooked("true", ""))
	if s := p.load(); len(s.ActiveHooks()) != 0 {
		t.Error(states(s))
	}
	p.trust()
	p.write("project/.holdfast/settings.json", `{}`)
	s := p.load()
	if what, hint := s.HookNotice(); what != "trusted hooks were removed from this folder's settings: PreToolUse true" || hint == "" || len(s.ActiveHooks()) != 0 {
		t.Error(what, hint)
	}
	p.write("project/.holdfast/settings.json", `{"disableAllHooks": true}`)
	p.trust()
	if what, _ := p.load().HookNotice(); what != "" {
		t.Error(what)
	}
}
