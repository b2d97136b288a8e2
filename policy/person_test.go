package policy_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

// A call that only the user may decide is asked about whatever allows it, and denied if no one can
// be asked or something denies it.
func TestOnlyUserDecides(t *testing.T) {
	r := policy.Request{Tool: "ExitPlanMode", Resource: "ExitPlanMode", ReadOnly: true, Person: true}
	allows := func(context.Context, policy.Request) (policy.Verdict, error) {
		return policy.Verdict{Effect: policy.Allow, Input: []byte(`{"answers":{}}`)}, nil
	}
	rules := rulesOf(t, "allow ExitPlanMode", "allow *")
	hook := policy.Contribution{Policy: "hook h", Verdict: policy.Verdict{Effect: policy.Allow}}
	for _, mode := range policy.Modes() {
		g := newGuards(t, policy.Config{
			Mode: mode, CanUseTool: allows, Rules: rules, NewID: func() string { return "1" },
			Policies: []policy.NamedPolicy{{Name: "p", Policy: say(policy.Allow)}}, AutoAllowConfined: autoAllow,
		})
		c, err := g.Check(policy.Change{Grant: &policy.Grant{Effect: policy.Allow, Tool: "ExitPlanMode", Resource: "ExitPlanMode"}})
		if err == nil {
			err = g.Apply(c)
		}
		if err != nil {
			t.Fatal(err)
		}
		child, err := g.Child("c", policy.ModeBypass)
		if err != nil {
			t.Fatal(err)
		}
		want := policy.Ask
		if mode == policy.ModeDontAsk || mode == policy.ModeSilent {
			want = policy.Deny
		}
		remake := func(in json.RawMessage) ([]policy.Request, error) {
			with := r
			with.Input = in
			return []policy.Request{with}, nil
		}
		for name, g := range map[string]*policy.Guards{"agent": g, "sub-agent": child} {
			d := g.Guard("ExitPlanMode").Judge(t.Context(), []policy.Request{r}, remake, hook)
			if d.Effect != want {
				t.Errorf("%s, %s: %s by %s (%s)", mode, name, d.Effect, d.By, d.Reason)
			}
		}
	}
	for name, c := range map[string]policy.Config{
		"a rule":     {Rules: rulesOf(t, "deny ExitPlanMode")},
		"a policy":   {Policies: []policy.NamedPolicy{{Name: "p", Policy: say(policy.Deny)}}},
		"restricted": {Mode: policy.ModeRestricted},
	} {
		if d := judge(newGuards(t, c), r); d.Effect != policy.Deny {
			t.Errorf("%s denies, and it is %s by %s", name, d.Effect, d.By)
		}
	}
	other := r
	if other.Person = false; other.Digest() == r.Digest() {
		t.Error("the digest does not tell who decides")
	}
}
