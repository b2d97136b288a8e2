package policy_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

func TestChain(t *testing.T) {
	w, err := policy.PathRules{Deny: []string{"secrets/**"}, Default: policy.Ask, Cwd: "/p"}.WritePolicy()
	if err != nil {
		t.Fatal(err)
	}
	f, err := policy.PathRules{Deny: []string{"**/.env*"}, Cwd: "/p", Home: "/home/me"}.ForbidPolicy()
	if err != nil {
		t.Fatal(err)
	}
	g := running(t, policy.Config{
		Limits:   []policy.NamedPolicy{{Name: "forbidden-globs", Policy: f}},
		Policies: []policy.NamedPolicy{{Name: "write-path-policy", Policy: w}},
		Rules:    rulesOf(t, "ask Bash"),
	})
	names := func(tool string) []string {
		var list []string
		for _, l := range g.Guard(tool).Chain().Links {
			list = append(list, l.Name)
		}
		return list
	}
	want := []string{"forbidden-globs", "protected-paths", "write-path-policy", "rules", "mode default"}
	if got := names("Edit"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	apply(t, g, allow(policy.Grant{Tool: "Edit", Operation: policy.OpWrite, Scope: "Edit(generated/*.json)"}))
	apply(t, g, policy.Change{Patch: &policy.Patch{Mode: "write", Allow: []string{"out/**"}, Default: policy.Deny}})
	apply(t, g, policy.Change{Patch: &policy.Patch{Tool: "Edit", Mode: "read", Deny: []string{"in/**"}}})
	apply(t, g, policy.Change{Mode: policy.ModePlan})
	want = []string{"forbidden-globs", "protected-paths", "session-allow-write-generated---json", "write-path-policy", "read-path-policy", "rules", "mode plan"}
	if got := names("Edit"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	want = []string{"forbidden-globs", "protected-paths", "write-path-policy", "rules", "mode plan"}
	if got := names("Write"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	c := g.Guard("Edit").Chain()
	if c.Tool != "Edit" || c.Version != 4 || c.Mode != policy.ModePlan {
		t.Errorf("%+v", c)
	}
	if got := c.Links[3].Detail; got != "deny secrets/**, allow out/**, default deny" {
		t.Errorf("the patched policy is shown as %q", got)
	}
	if got := c.Links[2]; got.Stage != "grants" || !strings.Contains(got.Detail, "g1") || !strings.Contains(got.Detail, "generated/*.json") {
		t.Errorf("the grant is shown as %+v", got)
	}
	b, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(b), `"policies":[{"name":"forbidden-globs"`) {
		t.Errorf("%s %v", b, err)
	}
}

// Replaying a log gives a restarted process the policy of the old one.
func TestReplay(t *testing.T) {
	old := running(t, policy.Config{})
	var log []json.RawMessage
	for _, c := range []policy.Change{
		{Mode: policy.ModePlan},
		deny(fileGrant("/p/a")), allow(policy.Grant{Tool: "Bash", Scope: "Bash(make:*)"}),
		{Patch: &policy.Patch{Mode: "write", Allow: []string{"out/**"}}},
		allow(fileGrant("/p/b")),
		{Revoke: "g3"},
	} {
		b, err := json.Marshal(apply(t, old, c))
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, b)
	}
	again := running(t, policy.Config{})
	if err := again.Replay(log); err != nil {
		t.Fatal(err)
	}
	if again.Version() != old.Version() || again.Mode() != old.Mode() || !reflect.DeepEqual(again.Grants(), old.Grants()) {
		t.Errorf("version %d, mode %s, grants %+v", again.Version(), again.Mode(), again.Grants())
	}
	for _, tool := range []string{"Edit", "Bash"} {
		if got, want := again.Guard(tool).Chain(), old.Guard(tool).Chain(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", tool, got, want)
		}
	}
}

func TestReplayInvalid(t *testing.T) {
	for _, bad := range []string{``, `{`, `[]`, `"plan"`, `{}`, `{"by":"ann"}`, `{"mode":"yolo"}`, `{"mode":"plan"} {}`, `{"forbid":["x"]}`, `{"revoke":"g1"}`} {
		g := running(t, policy.Config{})
		err := g.Replay([]json.RawMessage{json.RawMessage(`{"mode":"plan","by":"ann"}`), json.RawMessage(bad)})
		if err == nil || !strings.HasPrefix(err.Error(), "change 2 of 2: ") {
			t.Errorf("%q: %v", bad, err)
		}
		if g.Mode() != policy.ModePlan {
			t.Errorf("%q: the change before it is not in force", bad)
		}
	}
}
