//go:build unix

package workspace

import (
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
)

// countingObserver counts what observers receive.
type countingObserver struct {
	models int
	usd    float64
	turns  int
}

func (s *countingObserver) Observe(session string, e event.Event) {
	switch e := e.(type) {
	case event.ModelFinished:
		s.models++
	case event.UsageUpdated:
		s.usd += e.CallUSD
	case event.TurnFinished:
		s.turns++
	}
}

// A budget that is exceeded by the last answer is also reported for an agent in a container, and observers get
// its calls and their cost.
func TestBuiltinBudgetExceeded(t *testing.T) {
	t.Parallel()
	h := newBuiltinEnv(t, "price: {input: 10, output: 10}\nsteps: [{text: a dear answer, usage: {input: 200000}}]")
	h.o.Spec.Run.Limits.MaxBudgetUSD = 1
	s := &countingObserver{}
	h.o.Observers = []agent.LoopObserver{s}
	_, res := h.run(t.Context(), h.agent(), "go", nil)
	if res.Reason != event.ReasonBudget || res.RunCostUSD != 2 || res.BudgetUSD != 1 || res.Text != "a dear answer" {
		t.Errorf("%+v", res)
	}
	if s.models != 1 || s.usd != 2 || s.turns != 1 {
		t.Errorf("observers saw %+v", s)
	}
}
