package policy_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

// Only for the agent that has it, a private folder passes the limit on protected paths and the
// mode's approval request. Every other ask or deny still applies.
func TestOwnFolder(t *testing.T) {
	const mine = "/w/.claude/agent-memory/a"
	rules, _, err :=

		policy.RuleOptions{}.Compile([]policy.RuleSource{
			{Effect: policy.Deny, Text: "Edit(//w/.claude/agent-memory/a/no.md)"}, {Effect: policy.Ask, Text: "Edit(//w/.claude/agent-memory/a/ask.md)"},
		})

	if err != nil {
		t.Fatal(err)
	}
	links := map[string]string{mine + "/out.md": "/w/src/main.go", "/w/in.md": mine + "/a.md"}
	for _, tt := range []struct {
		mode   policy.Mode
		op     policy.Operation
		path   string
		want   policy.Effect // of whose folder it is
		others policy.Effect // of its parent and another one
	}{
		{"", policy.OpWrite, mine + "/MEMORY.md", policy.Allow, policy.Ask},
		{policy.ModeAcceptEdits, policy.OpWrite, mine + "/d/x.md", policy.Allow, policy.Ask},
		{policy.ModePlan, policy.OpWrite, mine + "/MEMORY.md", policy.Ask, policy.Ask},
		{policy.ModeDontAsk, policy.OpWrite, mine + "/MEMORY.md", policy.Deny, policy.Deny},
		{policy.ModeSilent, policy.OpWrite, mine + "/MEMORY.md", policy.Deny, policy.Deny},
		{"", policy.OpWrite, mine + "b/MEMORY.md", policy.Ask, policy.Ask},
		{"", policy.OpWrite, "/w/.claude/settings.json", policy.Ask, policy.Ask},
		{policy.ModeAcceptEdits, policy.OpWrite, mine + "/no.md", policy.Deny, policy.Deny},
		{policy.ModeAcceptEdits, policy.OpWrite, mine + "/ask.md", policy.Ask, policy.Ask},
		{"", policy.OpWrite, mine + "/out.md", policy.Ask, policy.Ask},
		{"", policy.OpWrite, "/w/in.md", policy.Ask, policy.Ask},
		{"", policy.OpRead, mine + "/MEMORY.md", policy.Allow, policy.Allow},
		{"", policy.OpRead, mine + "/.env", policy.Ask, policy.Ask},
		{policy.ModeAcceptEdits, policy.OpCommand, "rm " + mine + "/MEMORY.md", policy.Ask, policy.Ask},
	} {
		parent, err := policy.New(&policy.Config{
			Mode: tt.mode, Folders: []string{"/w"}, Rules: rules,
			Resolve: func(p string) string {
				if to := links[p]; to != "" {
					return to
				}
				return p
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		own, err := parent.Child("a", "")
		if err != nil {
			t.Fatal(err)
		}
		other, err := parent.Child("a", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := own.OwnFolder(mine); err != nil {
			t.Fatal(err)
		}
		r := policy.Request{Tool: "Write", Operation: tt.op, Resource: tt.path, Cwd: "/w", ReadOnly: tt.op == policy.OpRead}
		for who, g := range map[string]*policy.Guards{"parent": parent, "own": own, "other": other} {
			want := tt.others
			if who == "own" {
				want = tt.want
			}
			if d := g.Guard("Write").Judge(t.Context(), []policy.Request{r}, nil); d.Effect != want {
				t.Errorf("%s, mode %q, %s %s: %s (%s), want %s", who, tt.mode, tt.op, tt.path, d.Effect, d.Reason, want)
			}
		}
	}
}

func TestFolderWithoutOwner(t *testing.T) {
	g, err := policy.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "/", "a", "/a/..", "/a/"} {
		if g.OwnFolder(dir) == nil {
			t.Errorf("%q is kept", dir)
		}
	}
}
