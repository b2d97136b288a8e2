package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

func judged(t *testing.T, g *policy.Guards, r policy.Request) policy.Decision {
	t.Helper()
	return g.Guard(r.Tool).Judge(t.Context(), []policy.Request{r}, nil)
}

func command(line string) policy.Request {
	return policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: "/w"}
}

func TestALimitLeavesOnlyItsRules(t *testing.T) {
	g, err := policy.New(&policy.Config{Mode: policy.ModeBypass, Folders: []string{"/w"}, Home: "/home/me"})
	if err != nil {
		t.Fatal(err)
	}
	change := func(g *policy.Guards, l policy.Limit) {
		t.Helper()
		c, err := g.Check(policy.Change{Limit: &l})
		if err == nil {
			err = g.Apply(c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	child, err := g.Child("helper", "")
	if err != nil {
		t.Fatal(err)
	}
	origin := policy.Origin{File: "/s/commit/SKILL.md", Line: 3}
	change(g, policy.Limit{ID: "1", Name: "skill commit", Rules: []string{"Bash(git diff:*)", "Bash(git add:*)", "Read", "Edit(src/**)"}, Exempt: []string{"Skill"}, Turn: "turn-1", Origin: origin})

	read := policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: "/w/a", ReadOnly: true}
	edit := func(path string) policy.Request {
		return policy.Request{Tool: "Edit", Operation: policy.OpWrite, Resource: path}
	}
	for _, tt := range []struct {
		name string
		r    policy.Request
		want policy.Effect
	}{
		{"listed tool", read, policy.Allow},
		{"listed command", command("git diff --stat"), policy.Allow},
		{"two listed commands", command("git add a && git diff"), policy.Allow},
		{"another command", command("rm -rf x"), policy.Deny},
		{"another command behind a listed one", command("git diff && rm x"), policy.Deny},
		{"another command inside", command("git diff $(rm x)"), policy.Deny},
		{"a redirect", command("git diff > out"), policy.Deny},
		{"listed path", edit("/w/src/a.go"), policy.Allow},
		{"another path", edit("/w/b.go"), policy.Deny},
		{"another tool", policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/w/x"}, policy.Deny},
		{"a host for a command", policy.Request{Tool: "Bash", Operation: policy.OpConnect, Resource: "example.org:443"}, policy.Allow},
		{"a host for another tool", policy.Request{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "example.org:443"}, policy.Deny},
		{"a tool that it is not about", policy.Request{Tool: "Skill", Resource: "x", ReadOnly: true}, policy.Allow},
	} {
		for who, guards := range map[string]*policy.Guards{"agent": g, "its sub-agent": child} {
			d := judged(t, guards, tt.r)
			if d.Effect != tt.want {
				t.Errorf("%s, %s: %s: %s", tt.name, who, d.Effect, d.Reason)
			}
			if tt.want == policy.Deny && (d.By != "skill commit" || d.Rule == nil || d.Rule.File != origin.File || d.Rule.Line != 3 || !strings.Contains(d.Reason, "(/s/commit/SKILL.md:3)")) {
				t.Errorf("%s: %+v", tt.name, d)
			}
		}
	}

	change(g, policy.Limit{ID: "2", Name: "skill look", Rules: []string{"Read", "Grep"}, Turn: "turn-1"})
	if d := judged(t, g, command("git diff")); d.Effect != policy.Deny || d.By != "skill look" {
		t.Errorf("nested limits do not intersect: %+v", d)
	}
	if d := judged(t, g, policy.Request{Tool: "Grep", Operation: policy.OpRead, Resource: "/w"}); d.Effect != policy.Deny || d.By != "skill commit" {
		t.Errorf("%+v", d)
	}
	if n := len(child.Limits()); n != 2 {
		t.Errorf("%d limits", n)
	}
	before := g.Version()
	g.EndTurn("turn-0")
	if d := judged(t, g, command("rm x")); d.Effect != policy.Deny || g.Version() != before {
		t.Errorf("another turn's end: %+v", d)
	}
	g.EndTurn("turn-1")
	if d := judged(t, child, command("rm x")); d.Effect != policy.Allow || g.Version() == before || len(g.Limits()) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestALimitNeverAllows(t *testing.T) {
	rules, _, err := policy.RuleOptions{Cwd: "/w"}.Compile([]policy.RuleSource{{Effect: policy.Deny, Text: "Bash(git push:*)"}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := policy.New(&policy.Config{Rules: rules, Folders: []string{"/w"}})
	if err != nil {
		t.Fatal(err)
	}
	l := policy.Limit{ID: "1", Name: "skill x", Rules: []string{"Bash"}, Turn: "t"}
	if err := g.Apply(policy.Change{Limit: &l}); err != nil {
		t.Fatal(err)
	}
	if d := judged(t, g, command("git push")); d.Effect != policy.Deny || d.By != "rules" {
		t.Errorf("%+v", d)
	}
	if d := judged(t, g, command("make x")); d.Effect != policy.Ask {
		t.Errorf("%+v", d)
	}
}

func TestInvalidLimits(t *testing.T) {
	g, err := policy.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []policy.Limit{
		{ID: "1", Name: "n", Turn: "t"},
		{ID: "1", Name: "n", Rules: []string{"Read"}},
		{ID: "1", Name: "n", Rules: []string{"Bash("}, Turn: "t"},
		{ID: "1", Name: "n", Rules: []string{"*"}, Turn: "t", Dir: "/w"},
		{ID: "1", Name: "n", Rules: []string{"Read"}, Turn: "t", Dir: "w"},
		{Name: "n", Rules: []string{"Read"}, Turn: "t"},
	} {
		if _, err := g.Check(policy.Change{Limit: &l}); !errors.Is(err, policy.ErrInvalid) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if err := (&policy.Limit{Rules: []string{"Read", "Bash(git:*)", "Edit(~/x/**)", "mcp__srv__*"}}).CheckRules(""); err != nil {
		t.Error(err)
	}
	if err := (&policy.Limit{Rules: []string{"bash(git:*)"}}).CheckRules(""); err == nil {
		t.Error("a tool that there is not")
	}
}

// The allow list of a limit skips the mode's approval request until its turn ends. It overrides no
// deny or ask.
func TestALimitAllows(t *testing.T) {
	rules, _, err := policy.RuleOptions{Home: "/home/me", Cwd: "/w"}.Compile([]policy.RuleSource{
		{Effect: policy.Deny, Text: "Bash(git push:*)", File: "s.json", Line: 1}, {Effect: policy.Ask, Text: "Bash(git commit:*)", File: "s.json", Line: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := policy.New(&policy.Config{Rules: rules, Folders: []string{"/w"}, Home: "/home/me"})
	if err != nil {
		t.Fatal(err)
	}
	lim := policy.Limit{ID: "1", Name: "skill commit", Allow: []string{"Bash(git:*)"}, Turn: "turn-1", Origin: policy.Origin{File: "/s/SKILL.md", Line: 3}}
	c, err := g.Check(policy.Change{Limit: &lim})
	if err == nil {
		err = g.Apply(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]policy.Effect{
		"git fetch": policy.Allow, "git push": policy.Deny, "git commit -m x": policy.Ask, "git fetch && make": policy.Ask, "make": policy.Ask,
	} {
		d := judged(t, g, command(line))
		if d.Effect != want {
			t.Errorf("%s: %s %s", line, d.Effect, d.Reason)
		}
		if line == "git fetch" && (d.By != "skill commit" || d.Rule == nil || d.Rule.Rule != "Bash(git:*)" || d.Rule.Line != 3) {
			t.Errorf("%+v", d)
		}
	}
	g.EndTurn("turn-1")
	if d := judged(t, g, command("git fetch")); d.Effect != policy.Ask {
		t.Errorf("after the turn: %s", d.Effect)
	}
}
