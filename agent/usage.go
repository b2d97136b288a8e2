package agent

import (
	"maps"
	"sync"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/transcript"
)

// usageTotal is the usage of an agent and its sub-agents since the start of the turn or of [Agent.Work].
// Sub-agents add to it from their own goroutines.
type usageTotal struct {
	mu        sync.Mutex
	usage     transcript.Usage
	cost      float64
	takenCost float64 // the part of cost that is recorded as the cost of turns
	byModel   map[string]event.ModelUsage
}

// reset sets the totals to zero again. The cost since the last turn is still recorded with the next
// turn.
func (t *usageTotal) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.takenCost -= t.cost
	t.usage, t.cost, t.byModel = transcript.Usage{}, 0, map[string]event.ModelUsage{}
}

// takeCost returns the cost since the last call of takeCost.
func (t *usageTotal) takeCost() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := t.cost - t.takenCost
	t.takenCost = t.cost
	return since
}

func (t *usageTotal) add(m string, u transcript.Usage, cost float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.usage = t.usage.Add(u)
	t.cost += cost
	if t.byModel == nil {
		t.byModel = map[string]event.ModelUsage{}
	}
	mu := t.byModel[m]
	t.byModel[m] = event.ModelUsage{Usage: mu.Usage.Add(u), CostUSD: mu.CostUSD + cost, Calls: mu.Calls + 1}
}

// setUsage sets the usage in the result.
func (t *usageTotal) setUsage(r *event.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Usage, r.CostUSD, r.ByModel = t.usage, t.cost, maps.Clone(t.byModel)
}
