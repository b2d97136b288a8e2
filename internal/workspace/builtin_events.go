package workspace

import (
	"errors"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Limits for the queue of undelivered events, as a number and in bytes. The agent never waits for the reader: it
// may itself be waiting for the reader's approval.
const (
	maxQueue     = 1 << 17
	maxQueueSize = 64 << 20
)

var errFlood = errors.New("it sent events faster than they were read")

// push queues an event. The reading goroutine calls it.
func (t *builtinTurn) push(e event.Event, size int) {
	t.mu.Lock()
	if !t.over {
		t.queue, t.size = append(t.queue, e), t.size+size
	}
	full := (len(t.queue) > maxQueue || t.size > maxQueueSize) && !t.over
	t.over = t.over || full
	t.mu.Unlock()
	if full { // no one reads, or the process sends too much
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

// show delivers an event and collects the parts of the result.
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
		if !t.a.changed(e.Change.Mode) {
			return
		}
	}
	t.emit(e)
}

// changed records a mode that the process in the container reports. It returns false for a mode that only the host
// may set and has not set.
func (a *builtinAgent) changed(m policy.Mode) bool {
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

// spent returns what the turn used of the host's models, in total and by model.
func (t *builtinTurn) spent() (u transcript.Usage, usd float64, by map[string]event.ModelUsage) {
	by = t.server.Spent()
	for _, m := range by {
		u, usd = u.Add(m.Usage), usd+m.CostUSD
	}
	return u, usd, by
}
