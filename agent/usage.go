package agent

import (
	"maps"
	"sync"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/transcript"
)

// usageTotal is what an agent and those who work for it have used since its turn, or the work that
// the turn is a part of, has begun. They count from goroutines of their own.
type usageTotal struct {
	mu      sync.Mutex
	usage   transcript.Usage
	cost    float64
	closed  float64 // of it, what is on record as the cost of turns
	byModel map[string]event.ModelUsage
}

// empty begins anew. What was spent since the last turn is still to go on record.
func (t *usageTotal) empty() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed -= t.cost
	t.usage, t.cost, t.byModel = transcript.Usage{}, 0, map[string]event.ModelUsage{}
}

// close returns what was spent since a turn was closed last.
func (t *usageTotal) close() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := t.cost - t.closed
	t.closed = t.cost
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

// count writes down what was used.
func (t *usageTotal) count(r *event.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Usage, r.CostUSD, r.ByModel = t.usage, t.cost, maps.Clone(t.byModel)
}
