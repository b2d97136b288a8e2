package agent

import (
	"maps"
	"sync"

	"github.com/holdfast-dev/holdfast/transcript"
)

// purse is what a run has spent, its sub-agents' runs included: they pay into it from
// goroutines of their own.
type purse struct {
	mu      sync.Mutex
	usage   transcript.Usage
	cost    float64
	closed  float64 // of it, what is on record as the cost of turns
	byModel map[string]ModelUsage
}

// empty begins a run. What was spent since the last turn is still to go on record.
func (p *purse) empty() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed -= p.cost
	p.usage, p.cost, p.byModel = transcript.Usage{}, 0, map[string]ModelUsage{}
}

// close returns what was spent since a turn was closed last.
func (p *purse) close() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := p.cost - p.closed
	p.closed = p.cost
	return since
}

func (p *purse) pay(m string, u transcript.Usage, cost float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usage = p.usage.Add(u)
	p.cost += cost
	if p.byModel == nil {
		p.byModel = map[string]ModelUsage{}
	}
	mu := p.byModel[m]
	p.byModel[m] = ModelUsage{Usage: mu.Usage.Add(u), CostUSD: mu.CostUSD + cost, Calls: mu.Calls + 1}
}

// count writes down what was spent.
func (p *purse) count(r *Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Usage, r.CostUSD, r.ByModel = p.usage, p.cost, maps.Clone(p.byModel)
}

// over reports whether the budget of a run is used up.
func (p *purse) over(o *Options) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return o.MaxBudgetUSD > 0 && p.cost >= o.MaxBudgetUSD || o.MaxTotalTokens > 0 && p.usage.Total() >= o.MaxTotalTokens
}

// pay counts a model call of this agent, for it and for those that it works for.
func (a *Agent) pay(m string, u transcript.Usage, cost float64) {
	for at := a; at != nil; at = at.opt.parent {
		at.purse.pay(m, u, cost)
	}
}

// broke reports whether the budget of the run, or of one that it works for, is used up.
func (a *Agent) broke() bool {
	for at := a; at != nil; at = at.opt.parent {
		if at.purse.over(&at.opt) {
			return true
		}
	}
	return false
}
