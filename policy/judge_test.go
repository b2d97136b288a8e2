package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// fixedPolicy is a policy that always returns the same verdict.
type fixedPolicy policy.Verdict

func (s fixedPolicy) Evaluate(policy.Request) policy.Verdict { return policy.Verdict(s) }

func say(e policy.Effect) policy.Policy { return fixedPolicy{Effect: e, Reason: "says " + string(e)} }

func newGuards(t testing.TB, c policy.Config) *policy.Guards {
	t.Helper()
	g, err := policy.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func rulesOf(t testing.TB, lines ...string) *policy.Rules {
	t.Helper()
	var list []policy.RuleSource
	for i, line := range lines {
		effect, text, _ := strings.Cut(line, " ")
		list = append(list, policy.RuleSource{
			Effect: policy.Effect(effect), Text: text, Layer: layernames.Project, File: "settings.json", Line: i + 1, Dir: "/p",
		})
	}
	r, _, err := policy.RuleOptions{Home: "/home/me", Cwd: "/p"}.Compile(list)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func apply(t testing.TB, g *policy.Guards, c policy.Change) policy.Change {
	t.Helper()
	c, err := g.Check(c)
	if err == nil {
		err = g.Apply(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func edit(path string) policy.Request {
	return policy.Request{Tool: "Edit", Operation: policy.OpWrite, Resource: path}
}

func bash(line string) policy.Request {
	return policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: "/p"}
}

func judge(g *policy.Guards, r ...policy.Request) policy.Decision {
	return g.Guard(r[0].Tool).Judge(context.Background(), r, nil)
}

func TestStrictestRequestDecides(t *testing.T) {
	g := newGuards(t, policy.Config{Folders: []string{"/p"}, Rules: rulesOf(t, "allow Edit(/a)", "deny Edit(/secret/**)", "ask Edit(/b)")})
	for _, c := range []struct {
		paths []string
		want  policy.Effect
		rule  string
	}{
		{[]string{"/p/a"}, policy.Allow, "Edit(/a)"},
		{[]string{"/p/a", "/p/a"}, policy.Allow, "Edit(/a)"},
		{[]string{"/p/a", "/p/b"}, policy.Ask, "Edit(/b)"},
		{[]string{"/p/b", "/p/a"}, policy.Ask, "Edit(/b)"},
		{[]string{"/p/b", "/p/secret/x", "/p/a"}, policy.Deny, "Edit(/secret/**)"},
		{[]string{"/p/secret/x", "/p/b"}, policy.Deny, "Edit(/secret/**)"},
	} {
		var list []policy.Request
		for _, p := range c.paths {
			list = append(list, edit(p))
		}
		d := judge(g, list...)
		if d.Effect != c.want || d.Rule == nil || d.Rule.Rule != c.rule {
			t.Errorf("%v: %s by rule %+v, want %s by %s", c.paths, d.Effect, d.Rule, c.want, c.rule)
		}
		if len(d.Digests) != len(list) || d.Digests[0] != list[0].Digest() {
			t.Errorf("%v: digests %v", c.paths, d.Digests)
		}
		for _, s := range d.Contributions {
			if (s.Resource == "") == (len(list) > 1) {
				t.Errorf("%v: %q says something about %q", c.paths, s.Policy, s.Resource)
			}
		}
	}
}

func TestEmptyRequests(t *testing.T) {
	g := newGuards(t, policy.Config{Rules: rulesOf(t, "deny Skill")})
	if d := g.Guard("Skill").Judge(t.Context(), nil, nil); d.Effect != policy.Deny || d.Rule == nil || len(d.Digests) != 1 {
		t.Errorf("%+v", d)
	}
	if d := g.Guard("TodoWrite").Judge(t.Context(), nil, nil); d.Effect != policy.Ask || d.Tool != "TodoWrite" {
		t.Errorf("%+v", d)
	}
}

func TestRequestOfAnotherToolDenied(t *testing.T) {
	g := newGuards(t, policy.Config{Mode: policy.ModeBypass})
	d := g.Guard("Read").Judge(t.Context(), []policy.Request{bash("ls")}, nil)
	if d.Effect != policy.Deny || !strings.Contains(d.Reason, "Bash") {
		t.Errorf("%+v", d)
	}
}

func TestEveryLinkSpeaksInOrder(t *testing.T) {
	g := newGuards(t, policy.Config{
		Limits:     []policy.NamedPolicy{{Name: "forbidden-globs", Policy: say(policy.NoOpinion)}},
		CanUseTool: func(context.Context, policy.Request) (policy.Verdict, error) { return policy.Verdict{}, nil },
		Policies:   []policy.NamedPolicy{{Name: "read-only", Policy: say(policy.NoOpinion)}},
		Rules:      rulesOf(t, "ask Bash"), NewID: func() string { return "g1" },
	})
	apply(t, g, policy.Change{Grant: &policy.Grant{Effect: policy.Allow, Tool: "Bash", Scope: "Bash(other)"}})
	apply(t, g, policy.Change{Patch: &policy.Patch{Mode: "read", Allow: []string{"/x/**"}}})
	var names []string
	for _, s := range judge(g, bash("make")).Contributions {
		names = append(names, s.Policy)
	}
	want := []string{"forbidden-globs", "protected-paths", "grants", "canUseTool", "read-only", "read-path-policy", "rules", "mode default"}
	if !slices.Equal(names, want) {
		t.Errorf("said %v, want %v", names, want)
	}
}

func TestHostNotAskedAfterDeny(t *testing.T) {
	called := false
	g := newGuards(t, policy.Config{
		Limits: []policy.NamedPolicy{{Name: "limit", Policy: say(policy.Deny)}},
		CanUseTool: func(context.Context, policy.Request) (policy.Verdict, error) {
			called = true
			return policy.Verdict{}, nil
		},
		Policies: []policy.NamedPolicy{{Name: "own", Policy: say(policy.Allow)}},
	})
	d := judge(g, edit("/p/a"))
	if called || d.Effect != policy.Deny || d.By != "limit" {
		t.Errorf("called %v, %+v", called, d)
	}
	skipped := 0
	for _, s := range d.Contributions {
		if (s.Policy == "canUseTool" || s.Policy == "own") && s.Reason == "not evaluated: limit denied the call" {
			skipped++
		}
	}
	if skipped != 2 {
		t.Errorf("the decision does not name the links that were not evaluated: %+v", d.Contributions)
	}
}

func TestALimitOnlyLimits(t *testing.T) {
	g := newGuards(t, policy.Config{Limits: []policy.NamedPolicy{{Name: "limit", Policy: say(policy.Allow)}}})
	if d := judge(g, edit("/p/a")); d.Effect != policy.Ask || d.By != "mode default" {
		t.Errorf("%+v", d)
	}
}

func TestStopComesWithADeny(t *testing.T) {
	for _, e := range []policy.Effect{policy.Deny, policy.Allow, policy.Ask} {
		g := newGuards(t, policy.Config{Policies: []policy.NamedPolicy{{Name: "own", Policy: fixedPolicy{Effect: e, Stop: true}}}})
		if d := judge(g, edit("/p/a")); d.Stop != (e == policy.Deny) {
			t.Errorf("%s: stop %v", e, d.Stop)
		}
	}
}

func TestPoliciesSeeTheMode(t *testing.T) {
	var seen policy.Mode
	g := newGuards(t, policy.Config{Mode: policy.ModePlan, CanUseTool: func(_ context.Context, r policy.Request) (policy.Verdict, error) {
		seen = r.Mode
		return policy.Verdict{}, nil
	}})
	judge(g, edit("/p/a"))
	if seen != policy.ModePlan {
		t.Errorf("saw %q", seen)
	}
}

// In plan mode, answers of the user and code of the host can allow what allow rules cannot.
func TestPlanModeAndAllowRules(t *testing.T) {
	rules := rulesOf(t, "allow Edit", "allow Bash(make:*)", "allow Read(//etc/**)", "allow mcp__s__t")
	g := newGuards(t, policy.Config{Mode: policy.ModePlan, Folders: []string{"/p"}, Rules: rules})
	for _, c := range []struct {
		r    policy.Request
		want policy.Effect
	}{
		{edit("/p/a"), policy.Ask},
		{bash("make test"), policy.Ask},
		{policy.Request{Tool: "mcp__s__t", Operation: policy.OpMCP, Resource: "s/t"}, policy.Ask},
		{policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: "/etc/hosts"}, policy.Allow},
		{policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: "/usr/x"}, policy.Ask},
		{policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: "/p/x"}, policy.Allow},
	} {
		if d := judge(g, c.r); d.Effect != c.want {
			t.Errorf("%s %s: %s by %s, want %s", c.r.Tool, c.r.Resource, d.Effect, d.By, c.want)
		}
	}
	own := newGuards(t, policy.Config{Mode: policy.ModePlan, Policies: []policy.NamedPolicy{{Name: "own", Policy: say(policy.Allow)}}})
	if d := judge(own, edit("/p/a")); d.Effect != policy.Allow {
		t.Errorf("the host's allow in plan mode: %+v", d)
	}
}

func TestNewInputIsJudgedAgain(t *testing.T) {
	rewrite := func(to string) policy.CanUseTool {
		return func(context.Context, policy.Request) (policy.Verdict, error) {
			return policy.Verdict{Effect: policy.Allow, Input: json.RawMessage(to)}, nil
		}
	}
	remake := func(input json.RawMessage) ([]policy.Request, error) {
		var in struct{ Path string }
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, err
		}
		if in.Path == "" {
			return nil, errors.New("no path")
		}
		r := edit(in.Path)
		r.Input = input
		return []policy.Request{r}, nil
	}
	n := 0
	for _, c := range []struct {
		name     string
		callback policy.CanUseTool
		remake   func(json.RawMessage) ([]policy.Request, error)
		want     policy.Effect
		by       string
		input    string
	}{
		{"redirected", rewrite(`{"path":"/p/safe"}`), remake, policy.Allow, "canUseTool", `{"path":"/p/safe"}`},
		{"into what is denied", rewrite(`{"path":"/p/no"}`), remake, policy.Deny, "rules", ""},
		{"into what is asked about", rewrite(`{"path":"/p/hm"}`), remake, policy.Ask, "rules", `{"path":"/p/hm"}`},
		{"nobody can remake", rewrite(`{"path":"/p/safe"}`), nil, policy.Deny, "canUseTool", ""},
		{"not an input of the tool", rewrite(`{"path":""}`), remake, policy.Deny, "canUseTool", ""},
		{"not JSON", rewrite(`{"path":`), remake, policy.Deny, "canUseTool", ""},
		{"not an object", rewrite(`[1]`), remake, policy.Deny, "canUseTool", ""},
		{"the same again", rewrite(` {"path": "/p/a"}`), remake, policy.Allow, "canUseTool", ""},
		{"never settles", func(context.Context, policy.Request) (policy.Verdict, error) {
			n++
			return policy.Verdict{Effect: policy.Allow, Input: json.RawMessage(`{"path":"/p/` + strings.Repeat("x", n) + `"}`)}, nil
		}, remake, policy.Deny, "canUseTool", ""},
	} {
		g := newGuards(t, policy.Config{Folders: []string{"/p"}, CanUseTool: c.callback, Rules: rulesOf(t, "deny Edit(/no)", "ask Edit(/hm)")})
		r := edit("/p/a")
		r.Input = json.RawMessage(`{"path":"/p/a"}`)
		d := g.Guard("Edit").Judge(t.Context(), []policy.Request{r}, c.remake)
		if d.Effect != c.want || d.By != c.by || string(d.Input) != c.input {
			t.Errorf("%s: %s by %s with %q because %s, want %s by %s with %q", c.name, d.Effect, d.By, d.Input, d.Reason, c.want, c.by, c.input)
		}
		if c.input != "" && d.Digests[0] == r.Digest() {
			t.Errorf("%s: the digest is that of the old input", c.name)
		}
	}
	if n != 4 {
		t.Errorf("%d rounds, want 4", n)
	}
}

func TestJudgingNeverPanics(t *testing.T) {
	g := newGuards(t, policy.Config{
		Mode: policy.ModeBypass, Folders: []string{"/p"},
		Resolve: func(string) string { panic("no file system") },
	})
	d := judge(g, edit("/p/a"))
	if d.Effect != policy.Deny || !strings.Contains(d.Reason, "no file system") || len(d.Digests) != 1 {
		t.Errorf("%+v", d)
	}
}

// The names that earlier sessions have in their records must stay.
func TestDecisionsKeepTheirShape(t *testing.T) {
	d := judge(newGuards(t, policy.Config{}), edit("/p/a"))
	d.Use = "u1"
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"use_id", "tool", "effect", "by", "reason", "mode", "said", "digests"} {
		if fields[name] == nil {
			t.Errorf("%s is missing in %s", name, b)
		}
	}
	old := `{"use_id":"u","tool":"Bash","effect":"deny","by":"person","reason":"no","mode":"default","asked":true,` +
		`"said":[{"policy":"mode default","effect":"ask","reason":"mode default"}],"digests":["x"]}`
	var back policy.Decision
	if err := json.Unmarshal([]byte(old), &back); err != nil || back.Use != "u" || !back.PersonAsked || back.Contributions[0].Effect != policy.Ask {
		t.Errorf("%+v %v", back, err)
	}
}

// An ask of a limit does not weaken a deny of the mode. If something allowed the call before the
// mode, the ask applies.
func TestLimitAskKeepsModeDeny(t *testing.T) {
	for _, tt := range []struct {
		mode  policy.Mode
		line  string
		allow string
		want  policy.Effect
		by    string
	}{
		{policy.ModeAuto, "rm -rf /", "", policy.Deny, "mode auto"},
		{policy.ModeAuto, "touch .git/hooks/x", "", policy.Deny, "mode auto"},
		{policy.ModeAuto, "touch .git/hooks/x", "Bash(touch:*)", policy.Ask, policy.ProtectedName},
		{policy.ModeRestricted, "touch .git/hooks/x", "", policy.Deny, "mode restricted"},
		{policy.ModeRestricted, "touch .git/hooks/x", "Bash(touch:*)", policy.Ask, policy.ProtectedName},
		{policy.ModeDefault, "touch .git/hooks/x", "", policy.Ask, policy.ProtectedName},
		{policy.ModeDontAsk, "touch .git/hooks/x", "", policy.Deny, "mode dontAsk"},
	} {
		var list []policy.RuleSource
		if tt.allow != "" {
			list = append(list, policy.RuleSource{Effect: policy.Allow, Text: tt.allow, Layer: layernames.User})
		}
		rules, _, err := policy.RuleOptions{Home: "/home/u", Cwd: "/w"}.Compile(list)
		if err != nil {
			t.Fatal(err)
		}
		g, err := policy.New(&policy.Config{Mode: tt.mode, Rules: rules, Folders: []string{"/w"}, Home: "/home/u"})
		if err != nil {
			t.Fatal(err)
		}
		r := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: tt.line, Cwd: "/w"}
		if d := g.Guard("Bash").Judge(t.Context(), []policy.Request{r}, nil); d.Effect != tt.want || d.By != tt.by {
			t.Errorf("mode %s, %q, allowed %q: %s by %s (%s), want %s by %s", tt.mode, tt.line, tt.allow, d.Effect, d.By, d.Reason, tt.want, tt.by)
		}
	}
}

func TestRemovingCriticalPathAsksDespiteRule(t *testing.T) {
	g := newGuards(t, policy.Config{Rules: rulesOf(t, "allow Bash(rm:*)"), Folders: []string{"/w/app"}, Home: "/home/u"})
	for line, want := range map[string]policy.Effect{
		"rm -rf /":             policy.Ask,
		"rm -rf /usr":          policy.Ask,
		"rm -rf ~":             policy.Ask,
		"rm -rf /home":         policy.Ask,
		"rm -r .":              policy.Ask,
		"rm -r ..":             policy.Ask,
		`rm -rf "$X"/*`:        policy.Ask,
		`echo $(rm -rf "$X"/)`: policy.Ask,
		"rm -rf build":         policy.Allow,
		"rm -rf /usr/lib/x":    policy.Allow,
		"rm /w/app/a":          policy.Allow,
	} {
		r := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: "/w/app"}
		if d := judge(g, r); d.Effect != want {
			t.Errorf("%s: %s by %s (%s), want %s", line, d.Effect, d.By, d.Reason, want)
		}
	}
}
