package policy_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

// The policy checks both the name and the private address of a connection.
func TestNameAtAPrivateAddress(t *testing.T) {
	at := func(address string) policy.Request {
		return policy.Request{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "npm.corp:443", Address: address, Confined: true}
	}
	for _, c := range []struct {
		name  string
		rules []string // effect and rule
		want  policy.Effect
	}{
		{"the name alone", []string{"allow WebFetch(domain:npm.corp)"}, policy.NoOpinion},
		{"the address alone", []string{"allow WebFetch(domain:10.0.0.1)"}, policy.NoOpinion},
		{"both", []string{"allow WebFetch(domain:npm.corp)", "allow WebFetch(domain:10.0.0.1)"}, policy.Allow},
		{"the address is denied", []string{"allow WebFetch(domain:npm.corp)", "deny WebFetch(domain:10.0.0.1)"}, policy.Deny},
		{"the name is denied", []string{"allow WebFetch(domain:10.0.0.1)", "deny WebFetch(domain:npm.corp)"}, policy.Deny},
	} {
		var list []policy.RuleSource
		for _, r := range c.rules {
			effect, text, _ := strings.Cut(r, " ")
			list = append(list, policy.RuleSource{Effect: policy.Effect(effect), Text: text})
		}
		rules, _, err := policy.RuleOptions{Home: "/home/me", Cwd: "/w"}.Compile(list)
		if err != nil {
			t.Fatal(err)
		}
		if got := rules.Evaluate(at("10.0.0.1")).Effect; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	g := policy.Grant{Effect: policy.Allow, Tool: "WebFetch", Operation: policy.OpConnect, Resource: "npm.corp:443", Address: "10.0.0.1", Confined: true}
	for address, want := range map[string]bool{"10.0.0.1": true, "10.0.0.2": false, "": false} {
		if got, err := g.Covers(at(address), ""); got != want || err != nil {
			t.Errorf("a grant at 10.0.0.1 covers %q: %v, %v", address, got, err)
		}
	}
	g.Address = ""
	if got, _ := g.Covers(at("10.0.0.1"), ""); got {
		t.Error("a grant for the name covers a private address")
	}
	if at("10.0.0.1").Digest() == at("10.0.0.2").Digest() {
		t.Error("two addresses have one digest")
	}
}
