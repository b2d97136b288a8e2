package settings_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

const folderSettings = `{"permissions": {"allow": ["Bash(make:*)", "Read"], "ask": ["Bash(git push:*)"], "deny": ["Bash(rm:*)"],
	"forbidden": ["secret"], "defaultMode": "acceptEdits", "additionalDirectories": [".."], "onAsk": "wait", "askTimeout": "1h", "askToOverride": true,
	"disableBypassPermissionsMode": "disable"},
	"sandbox": {"deniedCommands": ["curl"]}}`

// What a folder brings along may forbid and ask, not allow, until it is trusted.
func TestUntrustedFolder(t *testing.T) {
	for _, file := range []string{"project/.holdfast/settings.json", "project/.holdfast/settings.local.json"} {
		p := newTestHome(t)
		p.write(file, folderSettings)
		s := p.load()
		if len(s.Rules) != 2 || s.Rules[0].Effect != policy.Ask || s.Rules[1].Effect != policy.Deny {
			t.Errorf("%+v", s.Rules)
		}
		if s.Mode.Value != "" || s.OnAsk.Value != "" || s.AskTimeout.Value != 0 || s.AllowOverride.Value || len(s.Folders) != 0 {
			t.Errorf("%+v", s)
		}
		if len(s.Forbidden) != 1 || s.NoBypass == nil || len(s.Sandboxes) != 1 || !s.Sandboxes[0].Untrusted {
			t.Errorf("what forbids does not count: %+v", s)
		}
		what, hint := s.Notice()
		want := "the settings of " + p.path("project") + " are not trusted: 2 allow rules, folder .., onAsk wait, askTimeout 1h, askToOverride, defaultMode acceptEdits are ignored"
		if what != want || hint != "review them, then: holdfast trust "+p.path("project") {
			t.Errorf("%s\nwant %s; hint %s", what, want, hint)
		}
		p.trust()
		s = p.load()
		if len(s.Rules) != 4 || s.Mode.Value != policy.ModeAcceptEdits || s.OnAsk.Value != settings.UnattendedWait || !s.AllowOverride.Value || len(s.Folders) != 1 || s.Sandboxes[0].Untrusted {
			t.Errorf("trusted: %+v", s)
		}
		if what, _ := s.Notice(); what != "" {
			t.Error(what)
		}
		p.write(file, folderSettings+"\n")
		if s = p.load(); len(s.Rules) != 2 {
			t.Error("changed settings are still trusted")
		}
	}
}

// Trust follows the change that the owner has made, and no other that has come with it.
func TestTrustFollowsOneChange(t *testing.T) {
	const hooks = `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "./guard.sh"}]}]}}`
	const shared, local = "project/.holdfast/settings.json", "project/.holdfast/settings.local.json"
	for name, tt := range map[string]struct {
		trusted bool
		other   func(p testHome)
		follows bool
	}{
		"of what was trusted":            {true, func(testHome) {}, true},
		"of what was not":                {false, func(testHome) {}, false},
		"and another file":               {true, func(p testHome) { p.write(shared, hooks+"\n") }, false},
		"and a script that a hook names": {true, func(p testHome) { p.write("project/guard.sh", "#!/bin/sh\nexit 0\n") }, true},
	} {
		p := newTestHome(t)
		p.write("project/guard.sh", "#!/bin/sh\nexit 2\n")
		p.write(shared, hooks)
		if tt.trusted {
			p.trust()
		}
		before := p.load()
		p.write(local, `{"permissions": {"allow": ["Bash(make)"]}}`)
		tt.other(p)
		ok, err := p.trustList().Update(before, p.load(), p.path(local), time.Unix(1, 0))
		if s := p.load(); err != nil || ok != tt.follows || (len(s.Rules) == 1) != tt.follows {
			t.Errorf("%s: %v %v, %d rules", name, ok, err, len(s.Rules))
		}
		if s := p.load(); strings.Contains(name, "script") && s.Hooks[0].Status != settings.HookModified {
			t.Errorf("%s: the hook is %s", name, s.Hooks[0].Status)
		}
	}
}

// Where nothing was, what the owner has written is trusted; a folder that brings nothing has no trust.
func TestTrustFollowsTheFirstFile(t *testing.T) {
	p := newTestHome(t)
	before := p.load()
	if ok, err := p.trustList().Update(before, before, p.path("home/settings.json"), time.Unix(1, 0)); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	p.write("project/.holdfast/settings.local.json", `{"permissions": {"allow": ["Bash(make)"]}}`)
	ok, err := p.trustList().Update(before, p.load(), p.path("project/.holdfast/settings.local.json"), time.Unix(1, 0))
	if s := p.load(); !ok || err != nil || len(s.Rules) != 1 {
		t.Errorf("%v %v, %d rules", ok, err, len(s.Rules))
	}
}

// What an untrusted folder's sandbox block loosens does not count, and is told;
// what it restricts counts.
func TestUntrustedSandbox(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"sandbox": {"limits": {"pids": 500}}}`)
	const more = "/usr/local"
	p.write("project/.holdfast/settings.json", `{"sandbox": {
		"allowUnsandboxedCommands": true, "excludedCommands": ["git"], "additionalWritePaths": ["`+more+`"],
		"network": {"allowedDomains": ["evil.example"], "httpProxyPort": 9}, "limits": {"pids": 100}}}`)
	want := "the settings of " + p.path("project") + " are not trusted: sandbox.allowUnsandboxedCommands, sandbox.excludedCommands, " +
		"sandbox.additionalWritePaths, sandbox.network.allowedDomains, sandbox.network.httpProxyPort are ignored"
	s := p.load()
	if what, _ := s.Notice(); what != want {
		t.Errorf("got %s\nwant %s", what, want)
	}
	if o := s.Ignored[3].Origin; o.Line != 3 || o.Col != 33 {
		t.Errorf("allowedDomains is said to be at %+v", o)
	}
	box := open(t, s)
	if _, ok := box.Excluded("git push", "/"); ok || box.AllowsUnsandboxed() || box.Explain(more+"/x", policy.OpWrite) == nil {
		t.Error("what loosens counts")
	}
	if l := s.Sandboxes[0].Settings.Limits; l == nil || l.Pids != 100 {
		t.Errorf("what restricts does not count: %+v", l)
	}
	p.write("home/settings.json", `{"sandbox": {"network": {"allowedDomains": ["*"]}}}`)
	if what, _ := p.load().Notice(); strings.Contains(what, "allowedDomains") {
		t.Errorf("hosts restrict where there is a network: %s", what)
	}
	p.trust()
	s = p.load()
	box = open(t, s)
	if _, ok := box.Excluded("git push", "/"); !ok || !box.AllowsUnsandboxed() || box.Explain(more+"/x", policy.OpWrite) != nil || len(s.Ignored) > 0 {
		t.Errorf("trusted, and what loosens does not count; ignored %v", s.Ignored)
	}
}

// open opens the sandbox of settings.
func open(t *testing.T, s *settings.Settings) *sandbox.Sandbox {
	t.Helper()
	box, err := sandbox.Open(s.Checkers(), &sandbox.OpenOptions{Folders: []string{t.TempDir()}, SingleCommand: true})
	if errors.Is(err, kernel.ErrUnsupported) {
		testneed.Need(t, "no kernel sandbox here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	return box
}

// A block that is not enabled must be right, has no say, and says so.
func TestDisabledSandbox(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", "{\"sandbox\": {\n\"enabled\": false, \"deniedCommands\": [\"rm\"]}}")
	s := p.load()
	if len(s.Sandboxes) != 0 || len(s.Warnings) != 1 || s.Warnings[0].Line != 2 || !strings.Contains(s.Warnings[0].Detail, "has no effect") {
		t.Errorf("%+v %+v", s.Sandboxes, s.Warnings)
	}
	p.write("home/settings.json", `{"sandbox": {"enabled": false, "deniedCommands": ["rm *"]}}`)
	if _, err := settings.Load(p.options()); !errors.Is(err, settings.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// Only an administrator may say that managed domains alone count.
func TestManagedDomainsOnly(t *testing.T) {
	const block = `{"sandbox": {"network": {"allowManagedDomainsOnly": true, "allowedDomains": ["a.org"]}}}`
	for _, file := range []string{"home/settings.json", "project/.holdfast/settings.json", "project/.holdfast/settings.local.json"} {
		p := newTestHome(t)
		p.write(file, block)
		_, err := settings.Load(p.options())
		e, ok := errors.AsType[*settings.Error](err)
		if !ok || !strings.Contains(e.Problems[0].Detail, "only managed settings") || e.Problems[0].Col != 53 || e.Hint() == "" {
			t.Errorf("%s: %+v", file, err)
		}
	}
	p := newTestHome(t)
	p.write("etc/settings.json", block)
	p.write("home/settings.json", `{"sandbox": {"network": {"allowedDomains": ["*"], "ask": true}}}`)
	if hosts := open(t, p.load()).Hosts(); len(hosts) != 2 || hosts[0].Ask || hosts[1].Ask {
		t.Errorf("%+v", hosts)
	}
}

// A file that joins the trusted one needs trust as well, and one that goes away too.
func TestTrustCoversTheFiles(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.holdfast/settings.json", folderSettings)
	p.trust()
	p.write("project/.holdfast/settings.local.json", `{"permissions": {"allow": ["Bash"]}}`)
	if s := p.load(); len(s.Ignored) == 0 {
		t.Error("a new file is trusted")
	}
	os.Rename(p.path("project/.holdfast/settings.json"), p.path("project/.holdfast/settings.local.json"))
	if s := p.load(); len(s.Ignored) == 0 {
		t.Error("a file under another name is trusted")
	}
	os.Rename(p.path("project/.holdfast/settings.local.json"), p.path("project/.holdfast/settings.json"))
	if s := p.load(); len(s.Ignored) != 0 {
		t.Error("the same file is no longer trusted")
	}
}

// An untrusted folder may choose a mode that is stricter than the user's, not a weaker one.
func TestUntrustedMode(t *testing.T) {
	for _, tt := range []struct{ user, folder, want policy.Mode }{
		{"", "plan", "plan"},
		{"", "dontAsk", "dontAsk"},
		{"", "silent", "silent"},
		{"", "default", ""},
		{"", "acceptEdits", ""},
		{"", "auto", ""},
		{"", "bypassPermissions", ""},
		{"bypassPermissions", "default", "default"},
		{"acceptEdits", "default", "default"},
		{"acceptEdits", "auto", "acceptEdits"},
		{"plan", "default", "plan"},
		{"plan", "dontAsk", "plan"},
		{"dontAsk", "plan", "dontAsk"},
		{"dontAsk", "silent", "silent"},
		{"silent", "dontAsk", "silent"},
	} {
		p := newTestHome(t)
		user := "{}"
		if tt.user != "" {
			user = `{"permissions": {"defaultMode": "` + string(tt.user) + `"}}`
		}
		p.write("home/settings.json", user)
		p.write("project/.holdfast/settings.json", `{"permissions": {"defaultMode": "`+string(tt.folder)+`"}}`)
		s := p.load()
		if s.Mode.Value != tt.want || (len(s.Ignored) == 0) != (tt.want == tt.folder) {
			t.Errorf("%+v: %s, ignored %v", tt, s.Mode.Value, s.Ignored)
		}
		o := p.options()
		o.Flags.Mode = policy.ModeAuto
		if s, err := settings.Load(o); err != nil || s.Mode.Value != policy.ModeAuto {
			t.Errorf("a flag is weaker than a folder: %+v %v", s, err)
		}
	}
}

// Rules that would not count must be readable all the same.
func TestUntrustedProblems(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.holdfast/settings.json", `{"permissions": {"allow": ["Bash("]}}`)
	if _, err := settings.Load(p.options()); !errors.Is(err, settings.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func TestTrustList(t *testing.T) {
	p := newTestHome(t)
	trust := func() *settings.Trust {
		list, err := settings.OpenTrust(p.path("home"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if ok, err := trust().Add(p.load(), time.Unix(0, 0)); ok || err != nil {
		t.Errorf("a folder without settings: %v %v", ok, err)
	}
	p.write("project/.holdfast/settings.json", "{}")
	p.trust()
	info, err := os.Stat(p.path("home/trust.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	list := trust().List()
	if len(list) != 1 || list[0].Folder != p.path("project") || len(list[0].Digest) != 64 || list[0].TrustedAt.IsZero() {
		t.Errorf("%+v", list)
	}
	if err := os.Symlink("project", p.path("alias")); err != nil {
		t.Fatal(err)
	}
	if ok, err := trust().Revoke(p.path("nowhere")); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if ok, err := trust().Revoke(p.path("alias")); !ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if list := trust().List(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	left, err := os.ReadDir(p.path("home"))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestBadTrustList(t *testing.T) {
	for _, tt := range []struct {
		text string
		mode os.FileMode
		hint string
	}{
		{"", 0o600, "remove the file"},
		{"{}", 0o600, "remove the file"},
		{"[]", 0o600, "remove the file"},
		{`{"folders": {}} x`, 0o600, "remove the file"},
		{`{"folders": {}, "all": true}`, 0o600, "remove the file"},
		{`{"folders": {}}`, 0o606, "chmod 600 "},
		{`{"folders": {}}`, 0o660, "chmod 600 "},
	} {
		p := newTestHome(t)
		p.write("project/.holdfast/settings.json", "{}")
		p.write("home/trust.json", tt.text)
		os.Chmod(p.path("home/trust.json"), tt.mode)
		_, err := settings.Load(p.options())
		e, ok := errors.AsType[*settings.Error](err)
		if !ok || !strings.HasPrefix(e.Hint(), tt.hint) || e.Problems[0].File != p.path("home/trust.json") {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if _, err := settings.OpenTrust(""); err != nil {
		t.Error(err)
	}
}
