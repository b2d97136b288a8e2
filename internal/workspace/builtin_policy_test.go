//go:build unix

package workspace

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

const everyTurn = `
steps:
  - when: {tool: Bash}
    text: "{{last_result}}"
  - when: {user: go}
    tool_uses: [{tool: Bash, input: {command: "echo yes >> ran.txt"}}]
  - text: never
`

// A mode that is set between two turns applies to the next ones, whoever sets it and whatever mode the session
// began in.
func TestBuiltinModeBetweenTurns(t *testing.T) {
	for name, set := range map[string]func(t *testing.T, h *builtinEnv, a *builtinAgent, c policy.Change) error{
		"here": func(t *testing.T, _ *builtinEnv, a *builtinAgent, c policy.Change) error {
			_, err := a.Change(t.Context(), c)
			return err
		},
		"elsewhere": func(t *testing.T, h *builtinEnv, _ *builtinAgent, c policy.Change) error {
			_, err := sessionpolicy.Change(t.Context(), h.sessions, "s", func(*policy.Guards) (policy.Change, error) { return c, nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newBuiltinEnv(t, everyTurn)
			a := h.agent() // in bypassPermissions
			if _, res := h.run(t.Context(), a, "go", nil); len(res.Denials) != 0 {
				t.Fatalf("%+v", res)
			}
			if err := set(t, h, a, policy.Change{Mode: policy.ModeDontAsk, By: "ann"}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, res := h.run(t.Context(), a, "go", nil); len(res.Denials) != 1 || a.Mode() != policy.ModeDontAsk {
					t.Errorf("mode %s: %+v", a.Mode(), res)
				}
			}
		})
	}
}

// The host records the initial mode of a run; the process inside cannot write a record that allows something.
func TestBuiltinInitialModeRecorded(t *testing.T) {
	for _, mode := range []string{"acceptEdits", "dontAsk"} {
		t.Run(mode, func(t *testing.T) {
			h := newBuiltinEnv(t, everyTurn)
			h.o.Spec.Run.Permissions.Mode = mode
			for range 2 { // the second time it is recorded already
				a := h.agent()
				h.run(t.Context(), a, "go", nil)
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
			}
			var modes []string
			for r, err := range h.sessions.Records(t.Context(), "s", session.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Kind == record.KindPolicyChanged {
					var c policy.Change
					if err := c.Parse(r.Payload); err != nil {
						t.Fatal(err)
					}
					modes = append(modes, string(c.Mode))
				}
			}
			if !slices.Equal(modes, []string{mode}) {
				t.Errorf("recorded: %q", modes)
			}
		})
	}
}
