package policy_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

// TestHookVerdicts checks a hook's verdict against every other opinion in every mode: its allow
// skips the mode's approval request and nothing else, its deny is final, and its ask works like any
// other.
func TestHookVerdicts(t *testing.T) {
	said := func(e policy.Effect) policy.Contribution {
		return policy.Contribution{Policy: "hook h", Verdict: policy.Verdict{Effect: e, Reason: "because"}}
	}
	for _, other := range opinions() {
		for _, m := range policy.Modes() {
			ids := 0
			c := policy.Config{Mode: m, Folders: []string{"/p"}, NewID: func() string { ids++; return strconv.Itoa(ids) }}
			other.put(t, &c)
			g := newGuards(t, c)
			if other.grant != policy.NoOpinion {
				apply(t, g, policy.Change{Grant: &policy.Grant{Effect: other.grant, Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a"}})
			}
			judged := func(s ...policy.Contribution) policy.Decision {
				return g.Guard("Edit").Judge(t.Context(), []policy.Request{edit("/p/a")}, nil, s...)
			}
			without := judged()
			byMode := strings.HasPrefix(without.By, "mode ") && without.Effect == policy.Ask && m != policy.ModePlan && other.want != policy.Ask
			where := other.name + ", mode " + string(m)

			allowed := judged(said(policy.Allow))
			switch {
			case byMode && (allowed.Effect != policy.Allow || allowed.By != "hook h"):
				t.Errorf("%s: an allow gives %s by %s", where, allowed.Effect, allowed.By)
			case !byMode && allowed.Effect != without.Effect:
				t.Errorf("%s: an allow turns %s (%s) into %s", where, without.Effect, without.By, allowed.Effect)
			}
			if d := judged(said(policy.Deny)); d.Effect != policy.Deny {
				t.Errorf("%s: a deny gives %s by %s", where, d.Effect, d.By)
			}
			asked := judged(said(policy.Ask))
			if without.Effect == policy.Deny && asked.Effect != policy.Deny || without.Effect != policy.Deny && asked.Effect == policy.Allow && other.name != "grant allows" && asked.By != "grants" {
				t.Errorf("%s: an ask gives %s by %s", where, asked.Effect, asked.By)
			}
			if d := judged(said(policy.Allow), said(policy.Deny)); d.Effect != policy.Deny {
				t.Errorf("%s: of two hooks the deny is lost: %s", where, d.Effect)
			}
		}
	}
}

// TestAWeakGrant checks a grant that the user did not give: any ask overrides it.
func TestAWeakGrant(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    policy.Config
		also *policy.Grant
		want policy.Effect
		by   string
	}{
		{"passes the mode", policy.Config{}, nil, policy.Allow, "grants"},
		{"not an ask rule", policy.Config{Rules: rulesOf(t, "ask Edit")}, nil, policy.Ask, "rules"},
		{"not a deny rule", policy.Config{Rules: rulesOf(t, "deny Edit")}, nil, policy.Deny, "rules"},
		{"not what the mode denies", policy.Config{Mode: policy.ModeDontAsk}, nil, policy.Deny, "mode dontAsk"},
		{"not in plan mode", policy.Config{Mode: policy.ModePlan}, nil, policy.Ask, "mode plan"},
		{"beside a person's", policy.Config{Rules: rulesOf(t, "ask Edit")}, &policy.Grant{Effect: policy.Allow, Tool: "Edit", Scope: "Edit"}, policy.Allow, "grants"},
		{"beside a person's no", policy.Config{}, &policy.Grant{Effect: policy.Deny, Tool: "Edit", Scope: "Edit"}, policy.Deny, "grants"},
	} {
		g := running(t, tt.c)
		apply(t, g, policy.Change{Grant: &policy.Grant{Effect: policy.Allow, Tool: "Edit", Scope: "Edit", Weak: true, By: "hook h"}})
		if tt.also != nil {
			apply(t, g, policy.Change{Grant: tt.also})
		}
		if d := judge(g, edit("/p/a")); d.Effect != tt.want || d.By != tt.by {
			t.Errorf("%s: %s by %s (%s)", tt.name, d.Effect, d.By, d.Reason)
		}
	}
}
