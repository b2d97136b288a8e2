package settings_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

const claudeFile = `{
  "permissions": {
    "allow": ["Bash(npm test:*)"],
    "ask": ["Bash(git push:*)"],
    "deny": ["Read(./secret.txt)"],
    "additionalDirectories": ["../shared"],
    "defaultMode": "acceptEdits"
  },
  "hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "true"}]}]},
  "statusLine": {"type": "command", "command": "x"},
  "apiKeyHelper": "./key.sh"
}`

// rules are the rules in force, with where they were written.
func rules(p testHome, s *settings.Settings) string {
	var list []string
	for _, r := range s.Rules {
		list = append(list, fmt.Sprintf("%s %s %s:%d", r.Effect, r.Text, strings.TrimPrefix(r.File, p.root+"/"), r.Line))
	}
	return strings.Join(list, "\n")
}

func ignored(s *settings.Settings) (list []string) {
	for _, i := range s.Ignored {
		list = append(list, i.Setting)
	}
	return list
}

// What a project's Claude Code settings forbid counts at once, the rest when the folder is trusted, and
// until the files change.
func TestForeignProject(t *testing.T) {
	const restricts = "ask Bash(git push:*) project/.claude/settings.json:4\ndeny Read(./secret.txt) project/.claude/settings.json:5"
	p := newTestHome(t)
	p.write("project/.claude/settings.json", claudeFile)
	s := p.load()
	if got := rules(p, s); got != restricts {
		t.Errorf("untrusted:\n%s", got)
	}
	if got := ignored(s); !slices.Contains(got, "allow rule Bash(npm test:*)") || !slices.Contains(got, "defaultMode acceptEdits") || s.Hooks[0].Status != settings.HookUntrusted {
		t.Errorf("untrusted: %v %s", got, s.Hooks[0].Status)
	}
	p.trust()
	s = p.load()
	if got := rules(p, s); got != "allow Bash(npm test:*) project/.claude/settings.json:3\n"+restricts {
		t.Errorf("trusted:\n%s", got)
	}
	if s.Mode.Value != policy.ModeAcceptEdits || s.Mode.Origin.Line != 7 || len(s.Folders) != 1 || s.Folders[0].Value != p.path("shared") || s.Hooks[0].Status != settings.HookTrusted {
		t.Errorf("trusted: %+v %+v %s", s.Mode, s.Folders, s.Hooks[0].Status)
	}
	if l := s.Layers[0]; l.Program != "claude" || l.Untrusted || l.Layer != "project" {
		t.Errorf("%+v", l)
	}
	p.write("project/.claude/settings.local.json", `{"permissions": {"allow": ["Bash"]}}`)
	if got := rules(p, p.load()); got != restricts {
		t.Errorf("changed:\n%s", got)
	}
}

// Trust in our own settings and in those of other programs are two things: what was trusted before there
// were the latter stays trusted.
func TestForeignTrustSeparate(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.holdfast/settings.json", `{"permissions": {"allow": ["Bash(make:*)"]}}`)
	p.trust()
	p.write("project/.claude/settings.json", claudeFile)
	s := p.load()
	if got := rules(p, s); !strings.HasPrefix(got, "allow Bash(make:*) project/.holdfast/settings.json:1\nask") {
		t.Errorf("%s", got)
	}
}

// Nested folders: those from the session's folder up to the project's.
func TestForeignFolders(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.claude/settings.json", `{"permissions": {"deny": ["Bash(a)"]}}`)
	p.write("project/sub/.claude/settings.json", `{"permissions": {"deny": ["Bash(b)"]}}`)
	p.write("project/sub/.codex/config.toml", "default_permissions = \"w\"\n[permissions.w.filesystem]\n\"/x\" = \"deny\"\n")
	p.write("project/other/.claude/settings.json", `{"permissions": {"deny": ["Bash(c)"]}}`)
	o := p.options()
	o.Cwd = p.path("project/sub")
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if got := rules(p, s); got != "deny Bash(b) project/sub/.claude/settings.json:1\ndeny Bash(a) project/.claude/settings.json:1" {
		t.Errorf("%s", got)
	}
	if len(s.Forbidden) != 2 || s.Forbidden[0].Value != "/x" || s.Forbidden[0].Origin.Line != 3 {
		t.Errorf("%+v", s.Forbidden)
	}
}

// A person's own file counts, but for what asks less or holds less: that was said about another guard.
func TestForeignUser(t *testing.T) {
	p := newTestHome(t)
	p.write("user/.claude/settings.json", `{"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Bash(rm:*)"], "defaultMode": "bypassPermissions"},
		"sandbox": {"enabled": true, "excludedCommands": ["docker"], "autoAllowBashIfSandboxed": true, "network": {"allowedDomains": ["a.example"], "deniedDomains": ["b.example"]}, "filesystem": {"denyRead": ["~/private"]}, "bwrapPath": "/x"}}`)
	s := p.load()
	if got := rules(p, s); got != "allow Bash(ls:*) user/.claude/settings.json:1\ndeny Bash(rm:*) user/.claude/settings.json:1" {
		t.Errorf("%s", got)
	}
	if s.Mode.Value != "" || len(s.Ignored) != 0 {
		t.Errorf("%+v %+v", s.Mode, s.Ignored)
	}
	var keys []string
	for _, f := range s.Foreign {
		keys = append(keys, f.Key)
	}
	want := []string{"sandbox.bwrapPath", "sandbox.autoAllowBashIfSandboxed", "sandbox.excludedCommands", "sandbox.network.allowedDomains", "permissions.defaultMode"}
	if !slices.Equal(keys, want) {
		t.Errorf("%q", keys)
	}
	box := s.Sandboxes[0]
	if !box.Untrusted || len(box.Settings.DeniedPaths) != 1 || !slices.Equal(box.Settings.Network.AllowedDomains, []string{"*"}) || !slices.Equal(box.Settings.Network.DeniedDomains, []string{"b.example"}) {
		t.Errorf("%+v %+v", box.Settings, box.Settings.Network)
	}
	p.write("user/.claude/settings.json", `{"permissions": {"defaultMode": "plan"}}`)
	p.write("user/.codex/config.toml", "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n")
	if s := p.load(); s.Mode.Value != policy.ModePlan || s.Mode.Origin.File != p.path("user/.claude/settings.json") {
		t.Errorf("%+v", s.Mode)
	}
	o := p.options()
	o.ClaudeHome = p.path("elsewhere")
	p.write("elsewhere/settings.json", `{"permissions": {"deny": ["Bash(x)"]}}`)
	if s, err := settings.Load(o); err != nil || rules(p, s) != "deny Bash(x) elsewhere/settings.json:1" {
		t.Errorf("%v %+v", err, s)
	}
}

// An administrator's word to other programs is one here.
func TestForeignManaged(t *testing.T) {
	p := newTestHome(t)
	p.write("claude-code/managed-settings.json", `{"permissions": {"deny": ["WebFetch"], "disableBypassPermissionsMode": "disable"}, "allowManagedHooksOnly": true}`)
	p.write("claude-code/managed-settings.d/10-more.json", `{"permissions": {"deny": ["Bash(curl:*)"]}}`)
	p.write("codex/requirements.toml", "[rules]\nprefix_rules = [\n{pattern = [{token = \"rm\"}], decision = \"forbidden\"},\n]\n")
	p.write("etc/settings.json", `{}`)
	s := p.load()
	want := "deny Bash(curl:*) claude-code/managed-settings.d/10-more.json:1\ndeny WebFetch claude-code/managed-settings.json:1\ndeny Bash(rm:*) codex/requirements.toml:3"
	if got := rules(p, s); got != want {
		t.Errorf("%s", got)
	}
	if s.NoBypass == nil || s.ManagedHooksOnly == nil {
		t.Error("the administrator's word does not count")
	}
}

// Which layers can turn off reading other programs' files.
func TestForeignSwitch(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.claude/settings.json", "{ broken")
	if _, err := settings.Load(p.options()); !errors.Is(err, settings.ErrInvalid) || !strings.Contains(err.Error(), ".claude/settings.json:1:3: cannot read these settings of Claude Code") {
		t.Errorf("%v", err)
	} else if e, _ := errors.AsType[*settings.Error](err); !strings.Contains(e.Hint(), `"foreignSettings": false`) {
		t.Errorf("hint %q", e.Hint())
	}
	p.write("home/settings.json", `{"foreignSettings": false}`)
	if s := p.load(); len(s.Layers) != 1 {
		t.Errorf("%+v", s.Layers)
	}
	p.write("project/.claude/settings.json", claudeFile)
	p.write("etc/settings.json", `{"foreignSettings": true}`)
	if s := p.load(); len(s.Rules) != 2 {
		t.Errorf("the administrator's word: %+v", s.Rules)
	}
	p.write("project/.holdfast/settings.json", `{"foreignSettings": false}`)
	if _, err := settings.Load(p.options()); err == nil || !strings.Contains(err.Error(), "only user settings, flags and managed settings") {
		t.Errorf("%v", err)
	}
}

// What forbids and cannot be read is never passed over; what allows is, and is noted.
func TestForeignRules(t *testing.T) {
	for _, tt := range []struct{ text, refused, noted string }{
		{`{"permissions": {"deny": ["Bash(x"]}}`, `deny rule "Bash(x"`, ""},
		{`{"permissions": {"ask": "Bash"}}`, "permissions.ask is a text", ""},
		{`{"permissions": {"deny": [""]}}`, "permissions.deny[0] is empty", ""},
		{`{"sandbox": {"enabled": true, "filesystem": {"denyRead": [1]}}}`, "sandbox.", ""},
		{`{"deniedMcpServers": 1}`, "deniedMcpServers is a number", ""},
		{`{"permissions": {"allow": ["Bash(x", "Bash(y)"]}}`, "", "permissions.allow Bash(x"},
		{`{"permissions": {"defaultMode": "delegate"}}`, "", "permissions.defaultMode"},
		{`{"permissions": {"additionalDirectories": [1]}}`, "", "permissions.additionalDirectories"},
		{`{"hooks": {"Someday": []}}`, "", "hooks"},
		{`{"hooks": {"PreToolUse": [{"hooks": [{"type": "sing"}]}]}}`, "", "hooks"},
		{`{"autoCompactEnabled": "yes"}`, "", "autoCompactEnabled"},
		{`{"mcpServers": {"x": {"command": "x"}}}`, "", "mcpServers.x"},
		{`{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}`, "", ""},
	} {
		p := newTestHome(t)
		p.write("user/.claude/settings.json", tt.text)
		s, err := settings.Load(p.options())
		switch {
		case tt.refused != "":
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s: %v", tt.text, err)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.text, err)
		case tt.noted != "" && (len(s.Foreign) != 1 || s.Foreign[0].Key != tt.noted || s.Foreign[0].Origin.Line != 1):
			t.Errorf("%s: %+v", tt.text, s.Foreign)
		case strings.Contains(tt.text, "disableAllHooks") && (s.NoHooks.Value || s.Hooks[0].Status != settings.HookDisabled):
			t.Errorf("%s: %+v", tt.text, s.Hooks)
		}
	}
}

// One line says that there is something without effect, unless it is about looks alone.
func TestForeignNotice(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.claude/settings.json", `{"spinnerVerbs": {}, "permissions": {"deny": ["Bash(x)"]}}`)
	if what, _ := p.load().UnsupportedNotice(); what != "" {
		t.Errorf("%q", what)
	}
	p.write("project/.claude/settings.json", claudeFile)
	what, hint := p.load().UnsupportedNotice()
	if what != "1 setting of "+p.path("project/.claude/settings.json")+" has no effect here" || hint != "holdfast settings show" {
		t.Errorf("%q %q", what, hint)
	}
}

// A session in a container is handed the files that lie outside of its folder.
func TestForeignGiven(t *testing.T) {
	p := newTestHome(t)
	p.write("claude-code/managed-settings.json", `{"permissions": {"deny": ["Bash(a)"]}}`)
	p.write("user/.claude/settings.json", `{"permissions": {"deny": ["Bash(b)"]}}`)
	p.write("project/.claude/settings.json", claudeFile)
	p.trust()
	given, err := settings.NewPortable(p.options())
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	o := p.options()
	o.Portable = &settings.Portable{}
	if err := json.Unmarshal(b, o.Portable); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"claude-code", "user", "home"} {
		os.RemoveAll(p.path(gone))
	}
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	want := "deny Bash(a) claude-code/managed-settings.json:1\nallow Bash(npm test:*) project/.claude/settings.json:3\nask Bash(git push:*) project/.claude/settings.json:4\ndeny Read(./secret.txt) project/.claude/settings.json:5\ndeny Bash(b) user/.claude/settings.json:1"
	if got := rules(p, s); got != want {
		t.Errorf("%s", got)
	}
}

// What is denied in another program's file while an agent works comes into force.
func TestForeignSources(t *testing.T) {
	p := newTestHome(t)
	before := p.load()
	if name, ok := before.SourceOf(p.path("project/.claude/settings.local.json")); !ok || name != "local_settings" {
		t.Errorf("%q %v", name, ok)
	}
	p.write("project/.claude/settings.local.json", `{"permissions": {"deny": ["Bash(a)"]}}`)
	after, err := before.Reload()
	if err != nil {
		t.Fatal(err)
	}
	if _, n, err := after.StricterRules(before); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
}

// A folder is trusted again and forgotten with what it has for other programs.
func TestForeignTrustList(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.claude/settings.json", claudeFile)
	p.trust()
	list, err := settings.OpenTrust(p.path("home"))
	if err != nil {
		t.Fatal(err)
	}
	if f := list.List()[0]; f.Digest != "" || f.Foreign == "" || len(f.Hooks) != 1 {
		t.Errorf("%+v", f)
	}
	if ok, err := list.Add(p.load(), time.Unix(1, 0)); !ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if ok, err := list.Revoke(p.path("project")); !ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if s := p.load(); len(s.Ignored) == 0 {
		t.Error("still trusted")
	}
}

// Of Codex's rules for commands what forbids and asks counts at once, what allows in a trusted folder.
func TestForeignCodexRules(t *testing.T) {
	p := newTestHome(t)
	p.write("user/.codex/rules/default.rules", "prefix_rule(pattern = [\"rm\"], decision = \"forbidden\")\nprefix_rule(pattern=[\"ls\"])\n")
	p.write("project/.codex/rules/ours.rules", "# ours\nprefix_rule(pattern = [\"git\", [\"push\", \"fetch\"]], decision = \"prompt\")\nprefix_rule(pattern = [\"make\"])\n")
	rules := func(s *settings.Settings) string {
		var list []string
		for _, r := range s.Rules {
			list = append(list, fmt.Sprintf("%s %s %s:%d", r.Effect, r.Text, filepath.Base(r.File), r.Line))
		}
		return strings.Join(list, ", ")
	}
	s := p.load()
	want := "ask Bash(git push:*) ours.rules:2, ask Bash(git fetch:*) ours.rules:2, "
	own := "deny Bash(rm:*) default.rules:1, allow Bash(ls:*) default.rules:2"
	if got := rules(s); got != want+own || len(s.Ignored) != 1 {
		t.Errorf("%s\n%+v", got, s.Ignored)
	}
	list, err := settings.OpenTrust(p.path("home"))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := list.Add(s, time.Now()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if got := rules(p.load()); got != want+"allow Bash(make:*) ours.rules:3, "+own {
		t.Error(got)
	}
	p.write("project/.codex/rules/ours.rules", "prefix_rule(pattern = [\"git\"])")
	if s := p.load(); len(s.Ignored) != 1 || strings.Contains(rules(s), "allow Bash(git:*)") {
		t.Errorf("other rules are trusted: %s", rules(s))
	}
	p.write("project/.codex/rules/ours.rules", "x = 1")
	if _, err := settings.Load(p.options()); err == nil || !strings.Contains(err.Error(), "ours.rules:1:3") {
		t.Errorf("%v", err)
	}
	p.write("home/settings.json", `{"foreignSettings": false}`)
	if got := rules(p.load()); got != "" {
		t.Error(got)
	}
}
