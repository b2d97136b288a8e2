package runs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/runspec"
)

// Each call costs 1 USD.
const costlyScript = `
price: {input: 10, output: 10}
steps:
  - {text: one, usage: {input: 100000}}
  - {text: two, usage: {input: 100000}}
  - {text: three, usage: {input: 100000}}
  - {text: four, usage: {input: 100000}}
`

const twoAgents = `
name: two
version: "1"
agents:
  writer: {type: llm}
  editor: {type: llm}
flow: {sequential: {steps: [writer, editor]}}
`

func (w *runsEnv) startWithBudget(s *strategy.Strategy, usd float64) string {
	w.t.Helper()
	p, err := w.runs.Prepare(w.t.Context(), runs.PrepareOptions{Strategy: s, Actor: ann, Spec: runspec.Spec{Cwd: w.cwd, Limits: runspec.Limits{MaxBudgetUSD: usd}}})
	w.ok(err)
	return p.Run
}

// The budget of a run, of one or several agents, still applies when another daemon continues the
// run.
func TestBudgetAfterRestart(t *testing.T) {
	for name, text := range map[string]string{"several agents": twoAgents, "one agent": ""} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, map[string]string{"writer": costlyScript, "editor": costlyScript})
			s := single()
			if text != "" {
				s = w.parse(text)
			}
			id := w.startWithBudget(s, 2.5)
			w.ok(w.runs.Start(t.Context(), id, "go", "", ann))
			w.watch(id, 0).event(wire.RunCompleted) // 2 USD, or 1
			seen := w.head(id)
			for range 2 {
				w.restart()
				w.ok(w.runs.Continue(t.Context(), id, "more", "", ann))
				v := w.watch(id, seen)
				r := v.until("the end", func(r feed.Record) bool { return endOf(r) != "" })
				if seen = r.Seq; endOf(r) == wire.RunFailed {
					break
				}
			}
			info, err := w.runs.Get(t.Context(), id)
			w.ok(err)
			if info.Status != api.StatusFailed || info.Error == nil || !strings.Contains(info.Error.Message, "budget") {
				t.Errorf("%s, %+v: the budget was ignored", info.Status, info.Error)
			}
		})
	}
}

// endOf returns the event of a record that ends a run, or "".
func endOf(r feed.Record) string {
	var e wire.RunEvent
	if r.Kind == record.KindRunEvent && json.Unmarshal(r.Payload, &e) == nil && e.Status.Ended() {
		return e.Event
	}
	return ""
}

func (w *runsEnv) head(id string) int64 {
	w.t.Helper()
	m, err := w.sessions.Get(w.t.Context(), id)
	w.ok(err)
	return m.Head
}

// A model without a price cannot have a budget.
func TestBudgetWithoutPrice(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps: [{text: done}]"})
	id := w.startWithBudget(single(), 1)
	if err := w.runs.Start(t.Context(), id, "go", "", ann); err == nil || !strings.Contains(err.Error(), "price") {
		t.Errorf("%v", err)
	}
}
