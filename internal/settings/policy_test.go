package settings_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

func decide(t *testing.T, s *settings.Settings, r policy.Request) policy.Decision {
	t.Helper()
	config, err := s.Policy()
	if err != nil {
		t.Fatal(err)
	}
	all, err := policy.New(&config)
	if err != nil {
		t.Fatal(err)
	}
	return all.Guard(r.Tool).Judge(t.Context(), []policy.Request{r}, nil)
}

// What files say is what guards do, and each verdict names its line.
func TestPolicy(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"permissions": {
		"allow": ["Bash(make:*)"],
		"ask": ["WebFetch"],
		"deny": ["Read(/private/**)"],
		"additionalDirectories": ["../link"]
	}}`)
	p.write("etc/settings.json", `{
		"sandbox": {"deniedCommands": ["curl"]}}`)
	p.write("other/x", "")
	if err := os.Symlink("other", p.path("link")); err != nil {
		t.Fatal(err)
	}
	s := p.load()
	bash := func(line string) policy.Request {
		return policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: p.path("project")}
	}
	read := func(file string) policy.Request {
		return policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: file, ReadOnly: true}
	}
	for _, tt := range []struct {
		r    policy.Request
		want policy.Effect
		rule string
		line int
	}{
		{bash("make test"), policy.Allow, "Bash(make:*)", 2},
		{bash("touch x"), policy.Ask, "", 0},
		{bash("curl x"), policy.Deny, "deniedCommands: curl", 2},
		{bash("make test; curl x"), policy.Deny, "deniedCommands: curl", 2},
		{read(p.path("home/private/x")), policy.Deny, "Read(/private/**)", 4},
		{read(p.path("project/private/x")), policy.Allow, "", 0},
		{read(p.path("other/x")), policy.Allow, "", 0},
		{read(p.path("user/x")), policy.Ask, "", 0},
		{policy.Request{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "example.org"}, policy.Ask, "WebFetch", 3},
	} {
		d := decide(t, s, tt.r)
		rule, line := "", 0
		if d.Rule != nil {
			rule, line = d.Rule.Rule, d.Rule.Line
		}
		if d.Effect != tt.want || rule != tt.rule || line != tt.line {
			t.Errorf("%s: %s by %s (%s), rule %q line %d; want %s %q %d", tt.r.Resource, d.Effect, d.By, d.Reason, rule, line, tt.want, tt.rule, tt.line)
		}
	}
}

// A sandbox block only restricts: no layer's loosens another's.
func TestSandboxesAddUp(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"sandbox": {"deniedCommands": ["rm"]}}`)
	p.write("project/.holdfast/settings.json", `{"sandbox": {"allowedCommands": ["rm", "ls"]}}`)
	for range 2 { // untrusted, then trusted
		s := p.load()
		for line, denied := range map[string]bool{"rm x": true, "ls": false, "cat x": true} {
			d := decide(t, s, policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: p.path("project")})
			if (d.Effect == policy.Deny) != denied {
				t.Errorf("%s: %s by %s: %s", line, d.Effect, d.By, d.Reason)
			}
		}
		config, err := s.Policy()
		if err != nil || len(config.Limits) != 3 || len(config.Protected) == 0 || config.Limits[0].Name != "kept-keys" || config.Limits[1].Name != "sandbox project" || config.Limits[2].Name != "sandbox user" {
			t.Errorf("%+v, %d protected, %v", config.Limits, len(config.Protected), err)
		}
		p.trust()
	}
}

// In moves what is relative to the current folder, and only that.
func TestForFolder(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"permissions": {"deny": ["Read(./secret)"]}}`)
	s := p.load()
	if err := os.Symlink("sub", p.path("project/alias")); err != nil {
		t.Fatal(err)
	}
	sub := s.ForFolder("alias")
	if sub.Cwd() != p.path("project/sub") || s.Cwd() != p.path("project") {
		t.Errorf("%s %s", sub.Cwd(), s.Cwd())
	}
	for file, want := range map[string]policy.Effect{"project/sub/secret": policy.Deny, "project/other": policy.Ask} {
		r := policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: p.path(file), ReadOnly: true}
		if d := decide(t, sub, r); d.Effect != want {
			t.Errorf("%s: %s %s", file, d.Effect, d.Reason)
		}
	}
	if got := s.ForFolder("/nowhere/at/all/../x").Cwd(); got != "/nowhere/at/x" {
		t.Error(got)
	}
}

// Rules are looked at closely when the tools are known.
func TestTools(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"permissions": {"allow": ["Bash(ls:*)", "Bash", "Raed"], "deny": ["Bash(ls:*)"]}}`)
	o := p.options()
	_, problems, err := settings.Examine(o)
	if err != nil || len(problems) != 0 {
		t.Errorf("%+v %v", problems, err)
	}
	o.Tools = []string{"Bash", "Read"}
	_, problems, err = settings.Examine(o)
	if err != nil || len(problems) < 2 {
		t.Errorf("%+v %v", problems, err)
	}
	for _, f := range problems {
		if f.Fatal || f.Line != 1 || f.Col == 0 || f.File != p.path("home/settings.json") {
			t.Errorf("%+v", f)
		}
	}
	s, err := settings.Load(o)
	if err != nil || len(s.Warnings) != len(problems) {
		t.Errorf("%+v %v", s, err)
	}
}

// Forbidden globs hold for every tool, in the session's folder and in the project's.
func TestForbidden(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.holdfast/settings.json", `{"permissions": {"forbidden": ["secrets/**", "**/*.pem"]}}`)
	p.write("home/settings.json", `{"permissions": {"defaultMode": "bypassPermissions", "forbidden": ["~/.ssh/**", "notes"]}}`)
	p.write("flags.json", `{"permissions": {"forbidden": ["beside"]}}`)
	o := p.options()
	o.Cwd, o.Files = p.path("project/sub"), []string{p.path("flags.json")}
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	for file, rule := range map[string]string{
		"project/secrets/x": "secrets/**", "project/sub/secrets/x": "secrets/**", "etc/a.pem": "**/*.pem",
		"user/.ssh/id": "~/.ssh/**", "project/notes": "notes", "project/sub/notes": "notes", "beside": "beside", "project/sub/beside": "beside",
		"project/sub/x": "", "project/beside": "", "home/notes": "",
	} {
		for _, r := range []policy.Request{
			{Tool: "Read", Operation: policy.OpRead, Resource: p.path(file), ReadOnly: true},
			{Tool: "Write", Operation: policy.OpWrite, Resource: p.path(file)},
			{Tool: "Bash", Operation: policy.OpCommand, Resource: "cat " + p.path(file), Cwd: o.Cwd},
		} {
			d := decide(t, s, r)
			switch {
			case rule == "" && d.Effect != policy.Allow:
				t.Errorf("%s %s: %s by %s: %s", r.Tool, file, d.Effect, d.By, d.Reason)
			case rule != "" && (d.Effect != policy.Deny || d.Rule == nil || d.Rule.Rule != rule || d.Rule.Line != 1):
				t.Errorf("%s %s: %s by %s: %s %+v", r.Tool, file, d.Effect, d.By, d.Reason, d.Rule)
			}
		}
	}
}

// Whoever writes the settings writes the policy, whatever they are called and
// wherever they lie: it is asked about, also where edits pass.
func TestSettingsProtectThemselves(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"permissions": {"allow": ["Edit"], "defaultMode": "acceptEdits"}}`)
	p.write("project/conf/agent.json", `{}`)
	p.write("project/src/a", "")
	if err := os.Symlink("agent.json", p.path("project/conf/alias.json")); err != nil {
		t.Fatal(err)
	}
	o := p.options()
	o.Home = p.path("project/state")
	p.write("project/state/settings.json", `{"permissions": {"allow": ["Edit", "Bash(mv:*)"], "defaultMode": "acceptEdits"}}`)
	o.Files = []string{"conf/alias.json"}
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]policy.Effect{
		"project/src/a": policy.Allow, "project/conf/x": policy.Allow,
		"project/conf/agent.json": policy.Ask, "project/conf/alias.json": policy.Ask,
		"project/state/settings.json": policy.Ask, "project/state/trust.json": policy.Ask, "project/state/new": policy.Ask,
	} {
		for _, r := range []policy.Request{
			{Tool: "Write", Operation: policy.OpWrite, Resource: p.path(file)},
			{Tool: "Bash", Operation: policy.OpCommand, Resource: "echo > " + p.path(file), Cwd: p.path("project")},
		} {
			if d := decide(t, s, r); d.Effect != want && (want == policy.Ask || r.Tool == "Write") {
				t.Errorf("%s %s: %s by %s: %s", r.Tool, file, d.Effect, d.By, d.Reason)
			}
		}
	}
	for _, line := range []string{"mv conf x", "mv state x", "mv a conf/agent.json"} {
		if d := decide(t, s, policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: p.path("project")}); d.Effect != policy.Ask {
			t.Errorf("%s: %s by %s: %s", line, d.Effect, d.By, d.Reason)
		}
	}
}

// A home that is reached by a link, and folders that are links, are what they lead to.
func TestRulesThroughLinks(t *testing.T) {
	p := newTestHome(t)
	p.write("user/.ssh/id", "")
	p.write("data/x", "")
	for from, to := range map[string]string{"me": "user", "store": "data"} {
		if err := os.Symlink(to, p.path(from)); err != nil {
			t.Fatal(err)
		}
	}
	p.write("home/settings.json", `{"permissions": {"deny": ["Read(~/.ssh/**)", "Edit(/`+p.path("store")+`/**)"],
		"forbidden": ["`+p.path("store")+`/secret"], "defaultMode": "bypassPermissions"}}`)
	o := p.options()
	o.User = p.path("me")
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []policy.Request{
		{Tool: "Read", Operation: policy.OpRead, Resource: p.path("user/.ssh/id")},
		{Tool: "Write", Operation: policy.OpWrite, Resource: p.path("data/x")},
		{Tool: "Read", Operation: policy.OpRead, Resource: p.path("data/secret")},
		{Tool: "Bash", Operation: policy.OpCommand, Resource: "cat ~/.ssh/id", Cwd: p.path("project")},
	} {
		if d := decide(t, s, r); d.Effect != policy.Deny {
			t.Errorf("%s %s: %s by %s: %s", r.Tool, r.Resource, d.Effect, d.By, d.Reason)
		}
	}
}

// No tool touches the file with the keys of providers, wherever the session works and whatever the
// home is called.
func TestKeysFileDenied(t *testing.T) {
	for _, name := range []string{"home", "home [1]{a}*"} {
		p := newTestHome(t)
		o := p.options()
		o.Home, o.Cwd = p.path(name), p.root
		p.write(name+"/settings.json", `{"permissions": {"allow": ["Read", "Bash"], "defaultMode": "bypassPermissions"}}`)
		s, err := settings.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		for resource, denied := range map[string]bool{name + "/keys.json": true, "project/keys.json": false} {
			d := decide(t, s, policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: p.path(resource), ReadOnly: true})
			if (d.Effect == policy.Deny) != denied {
				t.Errorf("%s: %s by %s: %s", resource, d.Effect, d.By, d.Reason)
			}
		}
		// a command whose paths cannot be known is not asked about for that
		for line, denied := range map[string]bool{"cat " + strconv.Quote(p.path(name+"/keys.json")): true, `cat "$f"`: false} {
			d := decide(t, s, policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: p.root})
			if want := map[bool]policy.Effect{true: policy.Deny, false: policy.Allow}[denied]; d.Effect != want {
				t.Errorf("%s: %s by %s: %s", line, d.Effect, d.By, d.Reason)
			}
		}
	}
}
