package policy_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
)

// opinion is the verdict of one source about the edit of /p/a.
type opinion struct {
	name  string
	by    string
	want  policy.Effect
	put   func(*testing.T, *policy.Config)
	grant policy.Effect
}

// opinions are ordered from the strongest to the weakest; of equals, the first in the chain wins.
func opinions() []opinion {
	limit := func(e policy.Effect) func(*testing.T, *policy.Config) {
		return func(_ *testing.T, c *policy.Config) {
			c.Limits = append(c.Limits, policy.NamedPolicy{Name: "limit" + strconv.Itoa(len(c.Limits)), Policy: say(e)})
		}
	}
	callback := func(e policy.Effect) func(*testing.T, *policy.Config) {
		return func(_ *testing.T, c *policy.Config) {
			c.CanUseTool = func(context.Context, policy.Request) (policy.Verdict, error) {
				return policy.Verdict{Effect: e, Reason: "the host says " + string(e)}, nil
			}
		}
	}
	own := func(e policy.Effect) func(*testing.T, *policy.Config) {
		return func(_ *testing.T, c *policy.Config) {
			c.Policies = append(c.Policies, policy.NamedPolicy{Name: "own" + strconv.Itoa(len(c.Policies)), Policy: say(e)})
		}
	}
	rule := func(e policy.Effect) func(*testing.T, *policy.Config) {
		return func(t *testing.T, c *policy.Config) {
			if c.Rules == nil { // the stronger of two rules is put first
				c.Rules = rulesOf(t, string(e)+" Edit")
			}
		}
	}
	nothing := func(*testing.T, *policy.Config) {}
	return []opinion{
		{name: "limit denies", by: "limit0", want: policy.Deny, put: limit(policy.Deny)},
		{name: "session deny", by: "grants", want: policy.Deny, put: nothing, grant: policy.Deny},
		{name: "callback denies", by: "canUseTool", want: policy.Deny, put: callback(policy.Deny)},
		{name: "policy denies", by: "own0", want: policy.Deny, put: own(policy.Deny)},
		{name: "rule denies", by: "rules", want: policy.Deny, put: rule(policy.Deny)},
		{name: "session allow", by: "grants", want: policy.Allow, put: nothing, grant: policy.Allow},
		{name: "limit asks", by: "limit0", want: policy.Ask, put: limit(policy.Ask)},
		{name: "callback asks", by: "canUseTool", want: policy.Ask, put: callback(policy.Ask)},
		{name: "policy asks", by: "own0", want: policy.Ask, put: own(policy.Ask)},
		{name: "rule asks", by: "rules", want: policy.Ask, put: rule(policy.Ask)},
		{name: "callback allows", by: "canUseTool", want: policy.Allow, put: callback(policy.Allow)},
		{name: "policy allows", by: "own0", want: policy.Allow, put: own(policy.Allow)},
		{name: "rule allows", by: "rules", want: policy.Allow, put: rule(policy.Allow)},
		{name: "nobody", put: nothing},
	}
}

// expected returns the outcome if only the stronger opinion applied.
func expected(strong, weak opinion, m policy.Mode) (want policy.Effect, by string) {
	mode := "mode " + string(m)
	switch {
	case strong.name == "nobody":
		return m.Decide(policy.KindEdit), mode
	case strong.name == "rule allows" && m == policy.ModePlan:
		return policy.Ask, mode
	case strong.want == policy.Ask && (m == policy.ModeDontAsk || m == policy.ModeSilent):
		return policy.Deny, mode
	case strong.name == "limit asks" && m == policy.ModeRestricted && weak.want != policy.Allow:
		return policy.Deny, mode // it only asks about what somebody allows
	}
	return strong.want, strong.by
}

// For every pair of opinions in every mode, the stronger wins.
func TestPrecedence(t *testing.T) {
	list := opinions()
	for i, strong := range list {
		for _, weak := range list[i:] {
			if strong.by == "canUseTool" && weak.by == "canUseTool" && strong.name != weak.name {
				continue // there is one callback
			}
			for _, m := range policy.Modes() {
				ids := 0
				c := policy.Config{Mode: m, Folders: []string{"/p"}, NewID: func() string { ids++; return strconv.Itoa(ids) }}
				strong.put(t, &c)
				weak.put(t, &c)
				g := newGuards(t, c)
				for _, e := range []policy.Effect{weak.grant, strong.grant} {
					if e != policy.NoOpinion {
						apply(t, g, policy.Change{Grant: &policy.Grant{Effect: e, Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a"}})
					}
				}
				d := judge(g, edit("/p/a"))
				want, by := expected(strong, weak, m)
				if d.Effect != want || d.By != by {
					t.Errorf("%s, %s, mode %s: %s by %q (%s), want %s by %q", strong.name, weak.name, m, d.Effect, d.By, d.Reason, want, by)
				}
				if (d.AskReason == record.ReasonAsk) != (want == policy.Ask) || d.Mode != m || d.Reason == "" || len(d.Contributions) == 0 || len(d.Digests) != 1 {
					t.Errorf("%s, %s, mode %s: the decision does not explain itself: %+v", strong.name, weak.name, m, d)
				}
				if (d.Grant != "") != (d.By == "grants") || d.Rule == nil && d.By == "rules" {
					t.Errorf("%s, %s, mode %s: grant %q, rule %+v, by %s", strong.name, weak.name, m, d.Grant, d.Rule, d.By)
				}
			}
		}
	}
}

// An override turns a deny grant of the session into an approval request, once, and nothing else.
func TestOverride(t *testing.T) {
	for _, other := range opinions() {
		for _, m := range policy.Modes() {
			ids := 0
			c := policy.Config{Mode: m, Folders: []string{"/p"}, NewID: func() string { ids++; return strconv.Itoa(ids) }}
			other.put(t, &c)
			g := newGuards(t, c)
			for _, e := range []policy.Effect{policy.Deny, policy.Allow} {
				apply(t, g, policy.Change{Grant: &policy.Grant{Effect: e, Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a"}})
			}
			r := edit("/p/a")
			r.Override = true
			d := judge(g, r)
			want, why := policy.Ask, record.ReasonOverride
			if other.want == policy.Deny && other.grant == "" || m == policy.ModeDontAsk || m == policy.ModeSilent {
				want, why = policy.Deny, ""
			}
			if d.Effect != want || d.AskReason != why {
				t.Errorf("%s, mode %s: %s (%s) by %s, want %s (%s)", other.name, m, d.Effect, d.AskReason, d.By, want, why)
			}
			if r.Override = false; judge(g, r).Effect != policy.Deny {
				t.Errorf("%s, mode %s: without an override the session deny is gone", other.name, m)
			}
			if len(g.Grants()) != 2 {
				t.Errorf("%s: the grants changed: %v", other.name, g.Grants())
			}
		}
	}
}
