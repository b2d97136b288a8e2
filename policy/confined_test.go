package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

func confined(line string) policy.Request {
	r := bash(line)
	r.Confined = true
	return r
}

func outside(line string) policy.Request {
	r := bash(line)
	r.Unsandboxed = true
	return r
}

// autoAllow is the origin of the setting in these tests.
var autoAllow = &policy.Origin{Rule: "autoAllowBashIfSandboxed", Layer: layernames.User, File: "/s.json", Line: 3}

// Commands in the sandbox skip the callback's and the mode's approval request. Every other ask and
// deny applies.
func TestAutoAllowConfined(t *testing.T) {
	sayNo := func(context.Context, policy.Request) (policy.Verdict, error) {
		return policy.Verdict{Effect: policy.Deny, Reason: "the host says no"}, nil
	}
	limit := func(e policy.Effect) []policy.NamedPolicy {
		return []policy.NamedPolicy{{Name: "hard", Policy: say(e)}}
	}
	for _, c := range []struct {
		name string
		c    policy.Config
		r    policy.Request
		want policy.Effect
		by   string
	}{
		{"default", policy.Config{}, confined("make"), policy.Allow, "sandbox"},
		{"acceptEdits", policy.Config{Mode: policy.ModeAcceptEdits}, confined("make"), policy.Allow, "sandbox"},
		{"auto, unclear", policy.Config{Mode: policy.ModeAuto}, confined("$X"), policy.Allow, "sandbox"},
		{"auto, dangerous", policy.Config{Mode: policy.ModeAuto}, confined("git reset --hard"), policy.Deny, "mode auto"},
		{"dontAsk", policy.Config{Mode: policy.ModeDontAsk}, confined("make"), policy.Allow, "sandbox"},
		{"silent", policy.Config{Mode: policy.ModeSilent}, confined("make"), policy.Allow, "sandbox"},
		{"restricted", policy.Config{Mode: policy.ModeRestricted}, confined("make"), policy.Deny, "mode restricted"},
		{"plan", policy.Config{Mode: policy.ModePlan}, confined("make"), policy.Ask, "mode plan"},
		{"bypass", policy.Config{Mode: policy.ModeBypass}, confined("make"), policy.Allow, "sandbox"},
		{"callback denies", policy.Config{CanUseTool: sayNo}, confined("make"), policy.Allow, "sandbox"},
		{"callback denies, bypass", policy.Config{CanUseTool: sayNo, Mode: policy.ModeBypass}, confined("make"), policy.Allow, "sandbox"},
		{"callback denies, plan", policy.Config{CanUseTool: sayNo, Mode: policy.ModePlan}, confined("make"), policy.Ask, "mode plan"},
		{"not confined", policy.Config{CanUseTool: sayNo}, bash("make"), policy.Deny, "canUseTool"},
		{"outside", policy.Config{}, outside("make"), policy.Ask, "sandbox"},
		{"deny rule", policy.Config{Rules: rulesOf(t, "deny Bash(make:*)")}, confined("make x"), policy.Deny, "rules"},
		{"ask rule", policy.Config{Rules: rulesOf(t, "ask Bash(make:*)")}, confined("make x"), policy.Ask, "rules"},
		{"ask rule, dontAsk", policy.Config{Mode: policy.ModeDontAsk, Rules: rulesOf(t, "ask Bash(make:*)")}, confined("make x"), policy.Deny, "mode dontAsk"},
		{"limit denies", policy.Config{Limits: limit(policy.Deny)}, confined("make"), policy.Deny, "hard"},
		{"limit asks", policy.Config{Limits: limit(policy.Ask)}, confined("make"), policy.Ask, "hard"},
		{"policy denies", policy.Config{Policies: limit(policy.Deny)}, confined("make"), policy.Deny, "hard"},
		{"protected path", policy.Config{}, confined("touch .git/hooks/x"), policy.Ask, policy.ProtectedName},
		{"another tool", policy.Config{}, policy.Request{Tool: "Run", Operation: policy.OpCommand, Resource: "make", Confined: true}, policy.Ask, "mode default"},
		{"no command", policy.Config{}, policy.Request{Tool: "Bash", Operation: policy.OpWrite, Resource: "/p/a", Confined: true}, policy.Ask, "sandbox"},
	} {
		c.c.Folders, c.c.AutoAllowConfined = []string{"/p"}, autoAllow
		d := judge(newGuards(t, c.c), c.r)
		if d.Effect != c.want || d.By != c.by {
			t.Errorf("%s: %s by %s (%s), want %s by %s", c.name, d.Effect, d.By, d.Reason, c.want, c.by)
		}
		if d.By == "sandbox" && d.Effect == policy.Allow && (d.Rule == nil || *d.Rule != *autoAllow) {
			t.Errorf("%s: it does not say where that is set: %+v", c.name, d.Rule)
		}
	}
}

func TestWithoutAutoAllowTheSandboxAnswersNothing(t *testing.T) {
	d := judge(newGuards(t, policy.Config{Folders: []string{"/p"}}), confined("make"))
	if d.Effect != policy.Ask || d.By != "mode default" {
		t.Errorf("%s by %s", d.Effect, d.By)
	}
}

// The stricter mode of a sub-agent or of its parent also applies.
func TestAutoAllowHoldsForEveryModeAbove(t *testing.T) {
	for _, c := range []struct {
		above, own policy.Mode
		want       policy.Effect
	}{
		{policy.ModeDefault, policy.ModeAcceptEdits, policy.Allow},
		{policy.ModePlan, policy.ModeBypass, policy.Ask},
		{policy.ModeBypass, policy.ModeRestricted, policy.Deny},
	} {
		g := newGuards(t, policy.Config{Mode: c.above, Folders: []string{"/p"}, AutoAllowConfined: autoAllow})
		child, err := g.Child("helper", c.own)
		if err != nil {
			t.Fatal(err)
		}
		if d := judge(child, confined("make")); d.Effect != c.want {
			t.Errorf("%s below %s: %s by %s", c.own, c.above, d.Effect, d.By)
		}
	}
}

// A command outside the sandbox is asked about or denied in every mode, whatever allows it.
func TestOutsideAlwaysAsks(t *testing.T) {
	sayYes := func(context.Context, policy.Request) (policy.Verdict, error) {
		return policy.Verdict{Effect: policy.Allow}, nil
	}
	for _, m := range policy.Modes() {
		g := newGuards(t, policy.Config{
			Mode: m, Folders: []string{"/p"}, NewID: func() string { return "1" }, AutoAllowConfined: autoAllow,
			CanUseTool: sayYes, Policies: []policy.NamedPolicy{{Name: "own", Policy: say(policy.Allow)}}, Rules: rulesOf(t, "allow Bash"),
		})
		apply(t, g, policy.Change{Grant: &policy.Grant{Effect: policy.Allow, Tool: "Bash", Operation: policy.OpCommand, Resource: "make", Cwd: "/p"}})
		want, by := policy.Ask, "sandbox"
		if m == policy.ModeDontAsk || m == policy.ModeSilent {
			want, by = policy.Deny, "mode "+string(m)
		}
		d := judge(g, outside("make"))
		if d.Effect != want || d.By != by || !d.Outside() || !strings.Contains(d.Reason, "outside the sandbox") {
			t.Errorf("%s: %s by %s: %s", m, d.Effect, d.By, d.Reason)
		}
	}
}

// The ask about running outside the sandbox does not weaken a deny.
func TestOutsideKeepsDeny(t *testing.T) {
	for name, c := range map[string]policy.Config{
		"rule":   {Rules: rulesOf(t, "deny Bash(git:*)")},
		"limit":  {Limits: []policy.NamedPolicy{{Name: "hard", Policy: say(policy.Deny)}}},
		"policy": {Policies: []policy.NamedPolicy{{Name: "own", Policy: say(policy.Deny)}}},
		"auto":   {Mode: policy.ModeAuto},
		"callback": {CanUseTool: func(context.Context, policy.Request) (policy.Verdict, error) {
			return policy.Verdict{}, errors.New("no")
		}},
	} {
		c.Folders = []string{"/p"}
		if d := judge(newGuards(t, c), outside("git reset --hard")); d.Effect != policy.Deny {
			t.Errorf("%s: %s by %s", name, d.Effect, d.By)
		}
	}
}

// Only a rule or grant that names the host, or the user, allows a connection out of the sandbox.
func TestRequestsOutsideSandbox(t *testing.T) {
	reach := policy.Request{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "a.example.org:443", Confined: true}
	for _, c := range []struct {
		rule string
		want policy.Effect
	}{
		{"", policy.Ask},
		{"allow WebFetch", policy.Ask},
		{"allow *", policy.Ask},
		{"allow WebFetch(domain:*.example.org)", policy.Allow},
		{"allow WebFetch(domain:other.org)", policy.Ask},
		{"deny WebFetch", policy.Deny},
		{"deny WebFetch(domain:a.example.org)", policy.Deny},
	} {
		var rules *policy.Rules
		if c.rule != "" {
			rules = rulesOf(t, c.rule)
		}
		for _, m := range []policy.Mode{policy.ModeDefault, policy.ModeAuto, policy.ModeBypass} {
			g := newGuards(t, policy.Config{Mode: m, Folders: []string{"/p"}, Rules: rules, AutoAllowConfined: autoAllow})
			if d := judge(g, reach); d.Effect != c.want {
				t.Errorf("%q, %s: %s by %s (%s), want %s", c.rule, m, d.Effect, d.By, d.Reason, c.want)
			}
		}
	}
}

func TestChainShowsAutoAllow(t *testing.T) {
	g := newGuards(t, policy.Config{AutoAllowConfined: autoAllow})
	shown := func(tool string) bool {
		for _, l := range g.Guard(tool).Chain().Links {
			if l.Stage == "sandbox" {
				return l.Rule != nil && l.Rule.File == "/s.json"
			}
		}
		return false
	}
	if !shown("Bash") || shown("Read") {
		t.Errorf("Bash %v, Read %v", shown("Bash"), shown("Read"))
	}
}

// A grant for sandboxed commands does not cover commands outside the sandbox.
func TestGrantsOfTheSandboxStayInIt(t *testing.T) {
	g := newGuards(t, policy.Config{Folders: []string{"/p"}, NewID: func() string { return "1" }})
	apply(t, g, policy.Change{Grant: &policy.Grant{Effect: policy.Allow, Tool: "Bash", Scope: "Bash(make:*)", Confined: true}})
	for r, want := range map[*policy.Request]policy.Effect{
		new(confined("make x")): policy.Allow, new(bash("make x")): policy.Ask, new(outside("make x")): policy.Ask,
	} {
		if d := judge(g, *r); d.Effect != want {
			t.Errorf("confined %v, unsandboxed %v: %s by %s", r.Confined, r.Unsandboxed, d.Effect, d.By)
		}
	}
	if _, err := g.Check(policy.Change{Grant: &policy.Grant{Effect: policy.Deny, Tool: "Bash", Confined: true}}); !errors.Is(err, policy.ErrInvalid) {
		t.Errorf("a deny for the sandbox alone: %v", err)
	}
}

// Only the user opens the sandbox for what it refuses a command, once or for the session. Every link
// may deny it.
func TestOpeningTheSandbox(t *testing.T) {
	sayYes := func(context.Context, policy.Request) (policy.Verdict, error) {
		return policy.Verdict{Effect: policy.Allow}, nil
	}
	write := policy.Request{Tool: "Bash", Operation: policy.OpWrite, Resource: "/home/u/.tool", Confined: true}
	sockets := policy.Request{Tool: "Bash", Resource: "unix sockets", Confined: true}
	for _, r := range []policy.Request{write, sockets} {
		for _, m := range policy.Modes() {
			g := newGuards(t, policy.Config{
				Mode: m, Folders: []string{"/p"}, NewID: func() string { return "1" }, AutoAllowConfined: autoAllow, CanUseTool: sayYes,
				Policies: []policy.NamedPolicy{{Name: "own", Policy: say(policy.Allow)}}, Rules: rulesOf(t, "allow Bash", "allow Edit(//home/u/**)"),
			})
			want := policy.Ask
			if m == policy.ModeDontAsk || m == policy.ModeSilent {
				want = policy.Deny
			}
			hook := policy.Contribution{Policy: "hook h", Verdict: policy.Verdict{Effect: policy.Allow}}
			d := g.Guard("Bash").Judge(t.Context(), []policy.Request{r}, nil, hook)
			if d.Effect != want || d.Effect == policy.Ask && d.By != "sandbox" {
				t.Errorf("%s, %s: %s by %s: %s", r.Resource, m, d.Effect, d.By, d.Reason)
			}
			apply(t, g, policy.Change{Grant: &policy.Grant{Effect: policy.Allow, Tool: "Bash", Operation: r.Operation, Resource: r.Resource, Confined: true}})
			if d := judge(g, r); d.Effect != policy.Allow || d.By != "grants" {
				t.Errorf("%s, %s, opened for the session: %s by %s", r.Resource, m, d.Effect, d.By)
			}
		}
	}
	for name, c := range map[string]policy.Config{
		"rule":   {Rules: rulesOf(t, "deny Edit(//home/u/.tool/**)", "deny Edit(//home/u/.tool)")},
		"limit":  {Limits: []policy.NamedPolicy{{Name: "hard", Policy: say(policy.Deny)}}},
		"policy": {Policies: []policy.NamedPolicy{{Name: "own", Policy: say(policy.Deny)}}},
	} {
		c.Folders = []string{"/p"}
		if d := judge(newGuards(t, c), write); d.Effect != policy.Deny {
			t.Errorf("%s: %s by %s", name, d.Effect, d.By)
		}
	}
}
