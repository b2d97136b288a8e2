package workspace

import (
	"errors"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// These limits apply to the queue of events that were not delivered yet: their number and their
// size in bytes. The agent never waits for the reader of the events, because the agent may be
// waiting for an approval that the same reader must give.
const (
	maxQueue     = 1 << 17
	maxQueueSize = 64 << 20
)

var errFlood = errors.New("it sent events faster than they were read")

// push queues an event. It is called on the goroutine that reads from the connection.
func (t *builtinTurn) push(e event.Event, size int) {
	t.mu.Lock()
	if !t.overflowed {
		t.queue, t.size = append(t.queue, e), t.size+size
	}
	full := (len(t.queue) > maxQueue || t.size > maxQueueSize) && !t.overflowed
	t.overflowed = t.overflowed || full
	t.mu.Unlock()
	if full { // either no one reads the events, or the process sends too many
		_ = t.p.Channel().Close()
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// drain delivers the queued events.
func (t *builtinTurn) drain() {
	for {
		t.mu.Lock()
		list := t.queue
		t.queue, t.size = nil, 0
		t.mu.Unlock()
		if len(list) == 0 {
			return
		}
		for _, e := range list {
			t.show(e)
		}
	}
}

// show delivers an event and collects what the result of the turn needs.
func (t *builtinTurn) show(e event.Event) {
	switch e := e.(type) {
	case event.SessionOpened: // already emitted
		for _, n := range e.Notices {
			t.emit(event.Notice{Text: n})
		}
		return
	case event.Result:
		e.SessionID = t.res.SessionID
		e.Usage, e.CostUSD, e.ByModel = t.spent()
		e.RunCostUSD, e.BudgetUSD = t.server.SpentUSD(), max(t.a.o.Spec.Run.Limits.MaxBudgetUSD, 0)
		t.res = e
		return
	case event.TurnStarted:
		t.res.Turn = e.Turn
	case event.UsageUpdated:
		before := t.res.CostUSD
		e.Total, e.CostUSD, t.res.ByModel = t.spent()
		e.CallUSD = max(e.CostUSD-before, 0)
		t.res.Usage, t.res.CostUSD = e.Total, e.CostUSD
		t.res.Turns++
		t.emit(e)
		return
	case event.PolicyChanged:
		if !t.a.recordReportedMode(e.Change.Mode) {
			return
		}
	}
	t.emit(e)
}

// recordReportedMode records a mode that the process in the container reports. It returns false if only the
// host may set this mode and the host has not set it.
func (a *builtinAgent) recordReportedMode(m policy.Mode) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m == "" || m == a.mode {
		return true
	}
	if !hostpipe.AllowedFromContainer(m) {
		return false
	}
	a.mode = m
	return true
}

// spent returns the usage and the cost of the host's models in this turn, in total and by model.
func (t *builtinTurn) spent() (u transcript.Usage, usd float64, by map[string]event.ModelUsage) {
	by = t.server.Spent()
	for _, m := range by {
		u, usd = u.Add(m.Usage), usd+m.CostUSD
	}
	return u, usd, by
}
