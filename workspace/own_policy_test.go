package workspace

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/policylog"
	"github.com/holdfast-dev/holdfast/policy"
)

const everyTurn = `
steps:
  - when: {tool: Bash}
    text: "{{last_result}}"
  - when: {user: go}
    tool_uses: [{tool: Bash, input: {command: "echo yes >> ran.txt"}}]
  - text: never
`

// A mode that is set between two turns holds in the next ones, whoever sets it and in
// whatever mode the session was begun.
func TestOwnModeHolds(t *testing.T) {
	for name, set := range map[string]func(t *testing.T, h *house, a *own, c policy.Change) error{
		"here": func(t *testing.T, _ *house, a *own, c policy.Change) error {
			_, err := a.Change(t.Context(), c)
			return err
		},
		"elsewhere": func(t *testing.T, h *house, _ *own, c policy.Change) error {
			_, err := policylog.Change(t.Context(), h.sessions, "s", func(*policy.Guards) (policy.Change, error) { return c, nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, everyTurn)
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
