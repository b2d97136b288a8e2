package policy_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
)

// running returns guards of a run in /p whose grants get the IDs g1, g2, …
func running(t testing.TB, c policy.Config) *policy.Guards {
	t.Helper()
	ids := 0
	c.NewID = func() string { ids++; return "g" + strconv.Itoa(ids) }
	c.Now = func() time.Time { return time.Unix(1_700_000_000, 0).UTC() }
	if c.Folders == nil {
		c.Folders = []string{"/p"}
	}
	if c.Home == "" {
		c.Home = "/home/me"
	}
	return newGuards(t, c)
}

func allow(g policy.Grant) policy.Change { g.Effect = policy.Allow; return policy.Change{Grant: &g} }
func deny(g policy.Grant) policy.Change  { g.Effect = policy.Deny; return policy.Change{Grant: &g} }

// fileGrant is a decision of the user about one file.
func fileGrant(path string) policy.Grant {
	return policy.Grant{Tool: "Edit", Operation: policy.OpWrite, Resource: path}
}

func TestInvalidGrants(t *testing.T) {
	g := running(t, policy.Config{})
	for name, c := range map[string]policy.Change{
		"no effect":             {Grant: &policy.Grant{Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a"}},
		"asks":                  {Grant: &policy.Grant{Effect: policy.Ask, Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a"}},
		"no tool":               allow(policy.Grant{Operation: policy.OpWrite, Resource: "/p/a"}),
		"no resource":           allow(policy.Grant{Tool: "Edit", Operation: policy.OpWrite}),
		"unknown operation":     allow(policy.Grant{Tool: "Edit", Operation: "fs.shred", Resource: "/p/a"}),
		"scope and resource":    allow(policy.Grant{Tool: "Edit", Scope: "Edit(/a)", Resource: "/p/a"}),
		"scope and folder":      allow(policy.Grant{Tool: "Bash", Scope: "Bash(ls)", Cwd: "/p"}),
		"dir is relative":       allow(policy.Grant{Tool: "Edit", Scope: "Edit(a)", Dir: "p"}),
		"dir without a scope":   allow(policy.Grant{Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a", Dir: "/p"}),
		"folder of a file":      allow(policy.Grant{Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a", Cwd: "/p"}),
		"scope is no rule":      allow(policy.Grant{Tool: "Bash", Scope: "Bash(ls"}),
		"scope is a name glob":  allow(policy.Grant{Tool: "Bash", Scope: "*"}),
		"scope is not readable": allow(policy.Grant{Tool: "Bash", Scope: "Bash()x"}),
	} {
		if _, err := g.Check(c); !errors.Is(err, policy.ErrInvalid) {
			t.Errorf("%s: checked with %v", name, err)
		}
		c.Grant.ID = "x"
		if err := g.Apply(c); !errors.Is(err, policy.ErrInvalid) {
			t.Errorf("%s: applied with %v", name, err)
		}
	}
	if g.Version() != 0 || len(g.Grants()) != 0 {
		t.Errorf("version %d, grants %v", g.Version(), g.Grants())
	}
}

func TestAGrantCoversExactlyItsResource(t *testing.T) {
	for _, c := range []struct {
		name  string
		grant policy.Grant
		r     policy.Request
		want  policy.Effect
	}{
		{"the file", fileGrant("/p/a.go"), edit("/p/a.go"), policy.Allow},
		{"another file", fileGrant("/p/a.go"), edit("/p/b.go"), policy.Ask},
		{"the same name elsewhere", fileGrant("/p/config.json"), edit("/etc/other/config.json"), policy.Ask},
		{"outside the folder", fileGrant("/etc/x"), edit("/etc/x"), policy.Allow},
		{"below a folder", fileGrant("/p/src"), edit("/p/src/new/deep.ts"), policy.Ask},
		{"a name that looks like a glob", fileGrant("/p/*.ts"), edit("/p/other.ts"), policy.Ask},
		{"the file with that name", fileGrant("/p/*.ts"), edit("/p/*.ts"), policy.Allow},
		{"brackets", fileGrant("/p/[ab]"), edit("/p/a"), policy.Ask},
		{"another tool", fileGrant("/p/a.go"), policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/p/a.go"}, policy.Ask},
		{"another operation", policy.Grant{Tool: "Edit", Operation: policy.OpRead, Resource: "/p/a"}, edit("/p/a"), policy.Ask},
		{"the command", policy.Grant{Tool: "Bash", Operation: policy.OpCommand, Resource: "make x", Cwd: "/p"}, bash("make x"), policy.Allow},
		{"a longer command", policy.Grant{Tool: "Bash", Operation: policy.OpCommand, Resource: "make x", Cwd: "/p"}, bash("make x && make y"), policy.Ask},
		{"git push", policy.Grant{Tool: "Bash", Operation: policy.OpCommand, Resource: "git push", Cwd: "/p"}, bash("git push --force"), policy.Ask},
		{"another folder", policy.Grant{Tool: "Bash", Operation: policy.OpCommand, Resource: "make x", Cwd: "/q"}, bash("make x"), policy.Ask},
		{"a host", policy.Grant{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "a.org"}, policy.Request{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "a.org"}, policy.Allow},
		{"another host", policy.Grant{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "a.org"}, policy.Request{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "b.a.org"}, policy.Ask},
		{"a tool without resources", policy.Grant{Tool: "TodoWrite"}, policy.Request{Tool: "TodoWrite"}, policy.Allow},
		{"a scope", policy.Grant{Tool: "Edit", Scope: "Edit(/src/**)"}, edit("/p/src/a"), policy.Allow},
		{"beside a scope", policy.Grant{Tool: "Edit", Scope: "Edit(/src/**)"}, edit("/p/lib/a"), policy.Ask},
		{"a scope is for its tool", policy.Grant{Tool: "Edit", Scope: "Edit(/src/**)"}, policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/p/src/a"}, policy.Ask},
		{"a scope of commands", policy.Grant{Tool: "Bash", Scope: "Bash(npm run:*)"}, bash("npm run x"), policy.Allow},
		{"a scope and something more", policy.Grant{Tool: "Bash", Scope: "Bash(npm run:*)"}, bash("npm run x; ./y"), policy.Ask},
	} {
		g := running(t, policy.Config{})
		made := apply(t, g, allow(c.grant)).Grant
		d := judge(g, c.r)
		if d.Effect != c.want {
			t.Errorf("%s: %s by %s because %s, want %s", c.name, d.Effect, d.By, d.Reason, c.want)
		}
		if c.want == policy.Allow && (d.Grant != made.ID || d.By != "grants" || !strings.Contains(d.Reason, made.Name)) {
			t.Errorf("%s: the decision does not name the grant: %+v", c.name, d)
		}
	}
}

func TestASessionDeny(t *testing.T) {
	g := running(t, policy.Config{Mode: policy.ModeBypass, Rules: rulesOf(t, "allow Edit")})
	apply(t, g, allow(fileGrant("/p/a")))
	apply(t, g, deny(fileGrant("/p/a")))
	if d := judge(g, edit("/p/a")); d.Effect != policy.Deny || d.Grant != "g2" || d.By != "grants" {
		t.Errorf("%+v", d)
	}
	r := edit("/p/a")
	r.Override = true
	if d := judge(g, r); d.Effect != policy.Ask || d.AskReason != record.ReasonOverride || d.Grant != "g2" {
		t.Errorf("%+v", d)
	}
	if d := judge(g, edit("/p/a")); d.Effect != policy.Deny {
		t.Errorf("asking once took the deny away: %+v", d)
	}
	apply(t, g, policy.Change{Revoke: "g2"})
	if d := judge(g, edit("/p/a")); d.Effect != policy.Allow || d.Grant != "g1" {
		t.Errorf("%+v", d)
	}
}

func TestADenyBeatsASessionAllow(t *testing.T) {
	g := running(t, policy.Config{Rules: rulesOf(t, "deny Edit(/a)")})
	apply(t, g, allow(fileGrant("/p/a")))
	if d := judge(g, edit("/p/a")); d.Effect != policy.Deny || d.By != "rules" {
		t.Errorf("%+v", d)
	}
}

func TestAGrantWithOverrideOfSomethingElse(t *testing.T) {
	g := running(t, policy.Config{Rules: rulesOf(t, "deny Edit(/a)")})
	r := edit("/p/a")
	r.Override = true
	if d := judge(g, r); d.Effect != policy.Deny {
		t.Errorf("a rule was overridden: %+v", d)
	}
	if d := judge(running(t, policy.Config{}), r); d.Effect != policy.Ask || d.AskReason != record.ReasonAsk {
		t.Errorf("there is nothing to override: %+v", d)
	}
}

func TestGrantNames(t *testing.T) {
	for _, c := range []struct {
		grant policy.Change
		want  string
	}{
		{allow(fileGrant("/p/generated/*.json")), "session-allow-write-generated---json"},
		{allow(policy.Grant{Tool: "Edit", Operation: policy.OpWrite, Scope: "Edit(generated/*.json)"}), "session-allow-write-generated---json"},
		{deny(fileGrant("/p/a/b.ts")), "session-deny-write-a-b-ts"},
		{deny(fileGrant("/p/a-b.ts")), "session-deny-write-a-b-ts"},
		{allow(fileGrant("/etc/x")), "session-allow-write--etc-x"},
		{allow(policy.Grant{Tool: "Read", Operation: policy.OpRead, Resource: "/pp/x"}), "session-allow-read--pp-x"},
		{allow(policy.Grant{Tool: "Bash", Operation: policy.OpCommand, Resource: "git push", Cwd: "/p"}), "session-allow-command-git-push"},
		{allow(policy.Grant{Tool: "Bash", Scope: "Bash(npm run test:*)"}), "session-allow-tool-npm-run-test--"},
		{allow(policy.Grant{Tool: "TodoWrite"}), "session-allow-tool-TodoWrite"},
		{allow(policy.Grant{Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/ä"}), "session-allow-write--"},
	} {
		g := running(t, policy.Config{})
		if got := apply(t, g, c.grant).Grant.Name; got != c.want {
			t.Errorf("%+v is called %q, want %q", *c.grant.Grant, got, c.want)
		}
	}
}

// Two files whose grants have the same name have two grants.
func TestNamesNotUnique(t *testing.T) {
	g := running(t, policy.Config{})
	apply(t, g, deny(fileGrant("/p/a/b.ts")))
	apply(t, g, allow(fileGrant("/p/a-b.ts")))
	for path, want := range map[string]policy.Effect{"/p/a/b.ts": policy.Deny, "/p/a-b.ts": policy.Allow} {
		if d := judge(g, edit(path)); d.Effect != want {
			t.Errorf("%s: %s, want %s", path, d.Effect, want)
		}
	}
	var ids []string
	for _, grant := range g.Grants() {
		ids = append(ids, grant.ID)
	}
	if !slices.Equal(ids, []string{"g1", "g2"}) {
		t.Errorf("grants %v", ids)
	}
}

// The relative globs of a patch keep their folder too.
func TestAPatchKeepsItsFolder(t *testing.T) {
	one := running(t, policy.Config{Folders: []string{"/one"}})
	c, err := one.Check(policy.Change{Patch: &policy.Patch{Mode: "write", Allow: []string{"src/**"}, Deny: []string{"secret/**"}}})
	if err != nil || c.Patch.Dir != "/one" {
		t.Fatalf("%+v, %v", c.Patch, err)
	}
	g := running(t, policy.Config{Folders: []string{"/two"}})
	if err := g.Apply(c); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]policy.Effect{"/one/src/a": policy.Allow, "/two/src/a": policy.Ask, "/one/secret/a": policy.Deny} {
		r := policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: path}
		if d := g.Guard("Write").Judge(t.Context(), []policy.Request{r}, nil); d.Effect != want {
			t.Errorf("%s: %s, want %s", path, d.Effect, want)
		}
	}
	c.Patch.Dir = "src"
	if err := g.Apply(c); !errors.Is(err, policy.ErrInvalid) {
		t.Errorf("a relative dir: %v", err)
	}
}

// A relative path in a scope stays below the folder in which the grant was made.
func TestAScopeKeepsItsFolder(t *testing.T) {
	c, err := running(t, policy.Config{Folders: []string{"/one"}}).Check(allow(policy.Grant{Tool: "Write", Scope: "Edit(src/**)"}))
	if err != nil || c.Grant.Dir != "/one" {
		t.Fatalf("%+v, %v", c.Grant, err)
	}
	g := running(t, policy.Config{Folders: []string{"/two"}})
	if err := g.Apply(c); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]policy.Effect{"/one/src/a": policy.Allow, "/two/src/a": policy.Ask} {
		r := policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: path}
		if d := g.Guard("Write").Judge(t.Context(), []policy.Request{r}, nil); d.Effect != want {
			t.Errorf("%s: %s, want %s", path, d.Effect, want)
		}
	}
}
