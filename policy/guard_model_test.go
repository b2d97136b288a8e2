package policy_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/policy"
)

// model is the simplest implementation of guards for edits of a few files.
type model struct {
	modes   [3]policy.Mode // the agent, its child, the child's child
	grants  []policy.Grant
	deny    map[string]bool // by patches, for every tool
	allow   map[string]bool
	rest    policy.Effect
	version int
}

func (m *model) mode(agent int) policy.Mode {
	mode := m.modes[0]
	for i := 1; i <= agent; i++ {
		mode = mode.Stricter(m.modes[i])
	}
	return mode
}

func (m *model) decide(agent int, tool, path string) policy.Effect {
	granted := func(e policy.Effect) bool {
		return slices.ContainsFunc(m.grants, func(g policy.Grant) bool { return g.Effect == e && g.Tool == tool && g.Resource == path })
	}
	listed := m.rest
	switch {
	case m.deny[path]:
		listed = policy.Deny
	case m.allow[path]:
		listed = policy.Allow
	}
	out, plans, silent := policy.Allow, false, false
	for _, m := range m.modes[:agent+1] {
		if e := m.Decide(policy.KindEdit); e == policy.Deny || e == policy.Ask && out == policy.Allow {
			out = e
		}
		plans = plans || m == policy.ModePlan
		silent = silent || m == policy.ModeDontAsk || m == policy.ModeSilent
	}
	switch {
	case granted(policy.Deny) || listed == policy.Deny:
		return policy.Deny
	case granted(policy.Allow):
		return policy.Allow
	case listed == policy.Ask:
		out = policy.Ask
	case listed == policy.Allow && !plans:
		out = policy.Allow
	}
	if out == policy.Ask && silent {
		return policy.Deny
	}
	return out
}

// After any sequence of grants, revocations, patches and mode changes, every agent's guards agree
// with the model, and versions only increase.
func TestGuardsAgreeWithTheModel(t *testing.T) {
	paths := []string{"/p/a", "/p/b", "/p/*", "/p/d"}
	tools := []string{"Edit", "Write"}
	rapid.Check(t, func(t *rapid.T) {
		ids := 0
		root, err := policy.New(&policy.Config{Folders: []string{"/p"}, NewID: func() string { ids++; return strconv.Itoa(ids) }})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{modes: [3]policy.Mode{policy.ModeDefault, policy.ModeBypass, policy.ModeBypass}, deny: map[string]bool{}, allow: map[string]bool{}}
		child, _ := root.Child("child", "")
		grandchild, _ := child.Child("grandchild", "")
		agents := []*policy.Guards{root, child, grandchild}

		path, tool := rapid.SampledFrom(paths), rapid.SampledFrom(tools)
		change := func(t *rapid.T, agent int, c policy.Change) policy.Change {
			made, err := agents[agent].Check(c)
			if err == nil {
				err = agents[agent].Apply(made)
			}
			if err != nil {
				t.Fatal(err)
			}
			m.version++
			return made
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				for i, g := range agents {
					if g.Version() != m.version || g.Mode() != m.mode(i) || len(g.Grants()) != len(m.grants) {
						t.Fatalf("agent %d: version %d, mode %s, %d grants; want %d, %s, %d", i, g.Version(), g.Mode(), len(g.Grants()), m.version, m.mode(i), len(m.grants))
					}
					for _, p := range paths {
						for _, name := range tools {
							r := policy.Request{Tool: name, Operation: policy.OpWrite, Resource: p}
							d := judge(g, r)
							if want := m.decide(i, name, p); d.Effect != want || d.Version != m.version {
								t.Fatalf("agent %d, %s %s: %s by %s because %s, want %s", i, name, p, d.Effect, d.By, d.Reason, want)
							}
							if r.Override = true; m.decide(i, name, p) != policy.Deny && judge(g, r).Effect != m.decide(i, name, p) {
								t.Fatalf("agent %d, %s %s: an override changed what is not denied", i, name, p)
							}
						}
					}
				}
			},
			"mode": func(t *rapid.T) {
				agent, mode := rapid.IntRange(0, 2).Draw(t, "agent"), rapid.SampledFrom(policy.Modes()).Draw(t, "mode")
				change(t, agent, policy.Change{Mode: mode})
				m.modes[agent] = mode
			},
			"grant": func(t *rapid.T) {
				g := policy.Grant{
					Effect: rapid.SampledFrom([]policy.Effect{policy.Allow, policy.Deny}).Draw(t, "effect"),
					Tool:   tool.Draw(t, "tool"), Operation: policy.OpWrite, Resource: path.Draw(t, "path"),
				}
				made := change(t, rapid.IntRange(0, 2).Draw(t, "agent"), policy.Change{Grant: &g})
				m.grants = append(m.grants, *made.Grant)
			},
			"revoke": func(t *rapid.T) {
				if len(m.grants) == 0 {
					t.Skip("nothing to revoke")
				}
				i := rapid.IntRange(0, len(m.grants)-1).Draw(t, "grant")
				change(t, 0, policy.Change{Revoke: m.grants[i].ID})
				m.grants = slices.Delete(m.grants, i, i+1)
			},
			"patch": func(t *rapid.T) {
				p := rapid.SampledFrom([]string{"a", "b", "d"}).Draw(t, "file")
				patch := policy.Patch{Mode: "write"}
				switch rapid.IntRange(0, 2).Draw(t, "what") {
				case 0:
					patch.Allow, m.allow["/p/"+p] = []string{p}, true
				case 1:
					patch.Deny, m.deny["/p/"+p] = []string{p}, true
				default:
					patch.Default = rapid.SampledFrom([]policy.Effect{policy.Allow, policy.Deny, policy.Ask}).Draw(t, "default")
					m.rest = patch.Default
				}
				change(t, 0, policy.Change{Patch: &patch})
			},
			"end": func(t *rapid.T) {
				change(t, 0, policy.Change{Ended: true})
				m.grants, m.deny, m.allow, m.rest = nil, map[string]bool{}, map[string]bool{}, policy.NoOpinion
			},
			"refused": func(t *rapid.T) {
				old := m.version - 1
				if _, err := root.Check(policy.Change{Mode: policy.ModePlan, IfVersion: &old}); err == nil {
					t.Fatal("a stale change was taken")
				}
				if err := root.Apply(policy.Change{Revoke: "nobody's"}); err == nil {
					t.Fatal("an unknown grant was revoked")
				}
			},
		})
	})
}
