package policy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/policy"
)

// patches parses "update_policy allow [x/**]" and "deny [x/**] then allow [x/**]", for reading and
// for writing unless it names one.
func patches(text string) []policy.Patch {
	var out []policy.Patch
	for part := range strings.SplitSeq(text, " then ") {
		modes := []string{"read", "write"}
		if m := dimension.FindString(part); m != "" {
			modes = []string{m}
		}
		for _, mode := range modes {
			p := policy.Patch{Mode: mode}
			for _, m := range listOf.FindAllStringSubmatch(part, -1) {
				globs := strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune(`", '`, r) })
				if m[1] == "allow" {
					p.Allow = globs
				} else {
					p.Deny = globs
				}
			}
			if m := defaultOf.FindStringSubmatch(part); m != nil {
				p.Default = policy.Effect(m[1])
			}
			if p.Allow != nil || p.Deny != nil || p.Default != "" {
				out = append(out, p)
			}
		}
	}
	return out
}

func updateCase(t *testing.T, c corpus.Case) {
	g, when, e, all := unpack(t, c)
	guards := newCaseGuards(t, g)
	existing := guards.Guard("Write")
	child, err := guards.Child("sub", "")
	if err != nil {
		t.Fatal(err)
	}
	said := false
	for _, text := range append([]string{g.State, g.Message}, when...) {
		for _, p := range patches(text) {
			apply(t, guards, policy.Change{Patch: &p})
			said = true
		}
	}
	outside := policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/p/elsewhere"}
	switch reply := string(e.Reply); {
	case strings.Contains(reply, validation):
		if _, err := guards.Check(policy.Change{Patch: &policy.Patch{Mode: g.Mode, Allow: []string{"x/**"}}}); err == nil {
			t.Errorf("mode %q was taken", g.Mode)
		}
	case e.Default == "unchanged":
		if d := judge(guards, outside); !said || d.Effect != policy.Ask || d.By != "mode default" {
			t.Errorf("%s by %s", d.Effect, d.By)
		}
	case g.Write != nil || g.Read != nil:
		answersCase(t, g, when, all)
	case e.Decision != "" && access.MatchString(when[len(when)-1]):
		r, _ := request(g, when[len(when)-1])
		checkWord(t, c.ID, judge(guards, r), e.Decision)
	case strings.Contains(string(c.Setup())+strings.Join(when, " "), "ifVersion"):
		old := guards.Version()
		apply(t, guards, policy.Change{Mode: policy.ModePlan})
		if _, err := guards.Check(policy.Change{Mode: policy.ModeDefault, IfVersion: &old}); !errors.Is(err, policy.ErrStale) {
			t.Errorf("a stale change: %v", err)
		}
	case e.Version != "":
		for i := range 2 {
			apply(t, guards, policy.Change{Patch: &policy.Patch{Mode: "read", Allow: []string{"x/**"}}})
			if chain := existing.Chain(); chain.Version != i+1 || len(chain.Links) < 2 {
				t.Errorf("%+v", chain)
			}
		}
	case all["applies to"] != nil: // guards that exist, guards to come, and those of sub-runs
		apply(t, guards, policy.Change{Patch: &policy.Patch{Mode: "write", Deny: []string{"elsewhere"}}})
		for _, guard := range []*policy.Guard{existing, guards.Guard("Write"), child.Guard("Write")} {
			if d := guard.Judge(t.Context(), []policy.Request{outside}, nil); d.Effect != policy.Deny {
				t.Errorf("%+v", d)
			}
		}
	default:
		t.Fatalf("a shape of which the policy package has no part: %s", c.Setup())
	}
}

// wireCase checks the part of the permission messages that this package decides: the override.
func wireCase(t *testing.T, c corpus.Case) {
	g, _, _, all := unpack(t, c)
	verb, file, ok := strings.Cut(g.Rule, " ")
	if !ok || verb != "deny" {
		t.Fatal("a message on the socket, which belongs to the daemon: name it with the reason")
	}
	guards := newCaseGuards(t, g)
	r, _ := request(g, "write "+file)
	ch, _ := remember(r, "deny-session")
	apply(t, guards, ch)
	once := r
	once.Override = true
	if d := judge(guards, once); d.Effect != policy.Ask || d.AskReason != all["message.reason"] {
		t.Errorf("%s for %q, want a question for %v", d.Effect, d.AskReason, all["message.reason"])
	}
	if d := judge(guards, r); d.Effect != policy.Deny || len(guards.Grants()) != 1 {
		t.Errorf("the rule did not stay: %+v", d)
	}
}

// persistenceCase: a grant is in the log and applies again after a restart.
func persistenceCase(t *testing.T, c corpus.Case) {
	g := setupOf(t, c)
	if !strings.Contains(g.State, "allow-session") {
		t.Fatalf("a shape of which the policy package has no part: %s", c.Setup())
	}
	before := newCaseGuards(t, g)
	r, _ := request(g, "write a.txt")
	ch, _ := remember(r, "allow-session")
	record, err := json.Marshal(apply(t, before, ch))
	if err != nil {
		t.Fatal(err)
	}
	after := newCaseGuards(t, g)
	if err := after.Replay([]json.RawMessage{record}); err != nil {
		t.Fatal(err)
	}
	if d := judge(after, r); d.Effect != policy.Allow || d.Grant != before.Grants()[0].ID {
		t.Errorf("%+v", d)
	}
}

// canonicalCase: the display form of a path does not change what is checked and approved.
func canonicalCase(t *testing.T, c corpus.Case) {
	g := setupOf(t, c)
	guards := newCaseGuards(t, g)
	inside := policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/p/a", Display: "/inner/a"}
	host := inside
	host.Display = "/p/a"
	ch, _ := remember(inside, "allow-session")
	apply(t, guards, ch)
	if d := judge(guards, host); d.Effect != policy.Allow {
		t.Errorf("%+v", d)
	}
	if host.Digest() != inside.Digest() {
		t.Error("how a person sees it is no part of what was approved")
	}
}
