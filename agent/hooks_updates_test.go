package agent_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestHookPolicyUpdates(t *testing.T) {
	two := func() *fake {
		return play(t, step{uses: []transcript.ToolUse{use("c1", "Edit", `{}`)}}, step{uses: []transcript.ToolUse{use("c2", "Edit", `{}`)}}, step{text: "done"})
	}
	for _, c := range []struct {
		name   string
		update hook.PermissionUpdate
		p      policy.Config
		ran    int
	}{
		{"deny", hook.PermissionUpdate{Rules: []string{"Edit"}, Behavior: "deny"}, policy.Config{Mode: policy.ModeBypass}, 1},
		{"allow", hook.PermissionUpdate{Rules: []string{"Edit"}, Behavior: "allow"}, policy.Config{Mode: policy.ModeDefault}, 1},
		{"allow is weaker than an ask rule", hook.PermissionUpdate{Rules: []string{"Edit"}, Behavior: "allow"}, policy.Config{Mode: policy.ModeDefault, Rules: rules(t, policy.Ask, "Edit")}, 0},
		{"allow is weaker than a deny rule", hook.PermissionUpdate{Rules: []string{"Edit"}, Behavior: "allow"}, policy.Config{Mode: policy.ModeDefault, Rules: rules(t, policy.Deny, "Edit")}, 0},
		{"mode", hook.PermissionUpdate{Mode: "plan"}, policy.Config{Mode: policy.ModeBypass}, 1},
		{"cannot set bypassPermissions", hook.PermissionUpdate{Mode: "bypassPermissions"}, policy.Config{Mode: policy.ModeDefault}, 0},
		{"cannot leave plan mode", hook.PermissionUpdate{Mode: "auto"}, policy.Config{Mode: policy.ModePlan}, 0},
		{"cannot leave a denying mode", hook.PermissionUpdate{Mode: "acceptEdits"}, policy.Config{Mode: policy.ModeDontAsk}, 0},
		{"allow opens nothing in plan mode", hook.PermissionUpdate{Rules: []string{"Edit"}, Behavior: "allow"}, policy.Config{Mode: policy.ModePlan}, 0},
		{"allow opens nothing that the mode denies", hook.PermissionUpdate{Rules: []string{"Edit"}, Behavior: "allow"}, policy.Config{Mode: policy.ModeDontAsk}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e echo
			event := hook.PostToolUse
			if c.ran == 0 || c.update.Behavior == "allow" {
				event = hook.PostToolUseFailure // no approver: the first call is denied, and the hook must run
			}
			r := hook.New(nil)
			for _, ev := range []hook.Event{event, hook.PermissionDenied} {
				if err := r.HandleFunc(ev, "", returning(hook.Output{Updates: []hook.PermissionUpdate{c.update}})); err != nil {
					t.Fatal(err)
				}
			}
			c.p.Folders = []string{"/p"}
			a := newAgent(t, two(), agent.Options{Tools: registry(t, e.tool("Edit")), Permissions: agent.Permissions{Config: c.p}, Hooks: agent.Hooks{Registry: r}})
			prompt(t, a, "go")
			if len(e.ran) != c.ran {
				t.Errorf("ran %d of 2, want %d", len(e.ran), c.ran)
			}
		})
	}
}

// A hook cannot loosen the mode.
func TestHookModeChanges(t *testing.T) {
	for _, c := range []struct{ from, to, want policy.Mode }{
		{policy.ModeDefault, policy.ModeAcceptEdits, policy.ModeAcceptEdits},
		{policy.ModeAuto, policy.ModePlan, policy.ModePlan},
		{policy.ModePlan, policy.ModeDefault, policy.ModePlan},
		{policy.ModePlan, policy.ModeDontAsk, policy.ModePlan},
		{policy.ModeDontAsk, policy.ModeAuto, policy.ModeDontAsk},
		{policy.ModeDontAsk, policy.ModeRestricted, policy.ModeRestricted},
		{policy.ModeSilent, policy.ModeDontAsk, policy.ModeSilent},
		{policy.ModeDefault, policy.ModeBypass, policy.ModeDefault},
		{policy.ModeBypass, policy.ModeBypass, policy.ModeBypass},
	} {
		a := newAgent(t, play(t, step{text: "done"}), agent.Options{
			Permissions: agent.Permissions{Config: policy.Config{Mode: c.from, Folders: []string{"/p"}}},
			Hooks:       agent.Hooks{Registry: registryWith(t, hook.UserPromptSubmit, returning(hook.Output{Updates: []hook.PermissionUpdate{{Mode: string(c.to)}}}))},
		})
		prompt(t, a, "go")
		if a.Mode() != c.want {
			t.Errorf("from %s to %s: %s", c.from, c.to, a.Mode())
		}
	}
}
