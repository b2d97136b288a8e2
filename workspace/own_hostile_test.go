package workspace

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
)

// What a run may ask of models is bounded where the models are, and told as it was.
func TestOwnBudget(t *testing.T) {
	const step = "  - {text: more, tool_uses: [{tool: Bash, input: {command: 'true'}}]}\n"
	for _, tt := range []struct {
		name   string
		turns  int
		usd    float64
		reason agent.Reason
	}{
		{"turns", 2, 0, agent.ReasonMaxTurns},
		{"dollars", 0, 1e-6, agent.ReasonBudget},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, "price: {input: 1, output: 1}\nsteps:\n"+strings.Repeat(step, 9))
			h.o.Spec.MaxTurns, h.o.Spec.MaxBudgetUSD = tt.turns, tt.usd
			_, res := h.run(t.Context(), h.agent(), "go", nil)
			if res.Reason != tt.reason || res.Turns > 2 || res.CostUSD <= 0 || len(res.ByModel) != 1 {
				t.Errorf("the result is %+v", res)
			}
		})
	}
}
