package agent

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// callUsage is the usage of a model call.
type callUsage struct {
	model     string
	usage     transcript.Usage
	cost      float64
	estimated bool // the call was cut off before the provider reported its usage
}

// The purposes of model calls in model.called records.
const (
	forAgent   = "agent"   // the answer of a sub-agent
	forAttempt = "attempt" // a failed attempt
	forTool    = "aside"   // a side call of a tool
	forMutator = "mutator" // a summary, for example
)

// attempt makes one attempt of a model call, within the budget of the run, and adds its usage to the
// totals. deltas receives provisional events; it may be nil. The caller records the returned usage,
// which is nil if the call had no usage.
func (a *Agent) attempt(ctx context.Context, m model.Model, req *model.Request, aside bool, deltas func(model.Event)) (model.Answer, *callUsage, error) {
	info := m.Info()
	reserved, err := a.budget.reserve(ctx, a, m, req, aside)
	if err != nil {
		return model.Answer{}, nil, err
	}
	var p *callUsage
	defer func() { // this also runs if the model panics
		if p == nil {
			p = &callUsage{}
		}
		a.budget.settle(reserved, p.cost, p.usage.Total())
	}()
	got := 0
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			p = failedUsage(info, req, err, got)
			a.count(p)
			return model.Answer{}, p, err
		}
		switch ev := ev.(type) {
		case model.Answer:
			if u := ev.Item.Usage; u != nil {
				p = &callUsage{model: info.Model, usage: *u, cost: info.Cost(*u, ev.Cost)}
				a.count(p)
			}
			return ev, p, a.budget.checkCostKnown(info, &ev)
		case model.TextDelta:
			got += len(ev.Text)
		case model.ThinkingDelta:
			got += len(ev.Text)
		case model.ToolInputDelta:
			got += len(ev.JSON)
		}
		if deltas != nil {
			deltas(ev)
		}
	}
	err = &model.Error{Kind: model.ErrorMalformed, Provider: info.Provider, Message: "the model stream ended without an answer"}
	p = failedUsage(info, req, err, got)
	a.count(p)
	return model.Answer{}, p, err
}

// failedUsage returns the usage of a failed call. This is the usage that the provider reported. If
// part of the answer had arrived without a report, it is an estimate from the number of bytes. It
// returns nil if nothing had arrived and the provider reported no usage.
func failedUsage(info model.Info, req *model.Request, err error, got int) *callUsage {
	me, ok := errors.AsType[*model.Error](err)
	if ok && me.Usage != nil {
		return &callUsage{model: info.Model, usage: *me.Usage, cost: info.Cost(*me.Usage, me.Cost)}
	}
	if got == 0 {
		return nil
	}
	u := transcript.Usage{Input: int64(sizeOf(req) / bytesPerToken), Output: int64((got + bytesPerToken - 1) / bytesPerToken)}
	return &callUsage{model: info.Model, usage: u, cost: info.Price.Cost(u), estimated: true}
}

// sizeOf returns the size of a request in bytes.
func sizeOf(req *model.Request) int {
	n := len(req.System)
	for i := range req.Tools {
		n += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].Input)
	}
	for i := range req.Messages {
		n += len(req.Messages[i].JSON)
	}
	return n
}

// count adds a call to the totals of this agent and of its parents.
func (a *Agent) count(p *callUsage) {
	if p == nil {
		return
	}
	for at := a; at != nil; at = at.opt.parent {
		at.total.add(p.model, p.usage, p.cost)
	}
}

// recordUsage records the usage of a call that has no item in the run's log.
func (a *Agent) recordUsage(ctx context.Context, p *callUsage, why string) error {
	log := a.shared.runLog()
	if p == nil || log == nil {
		return nil
	}
	c := record.ModelCalled{Model: p.model, Usage: p.usage, Cost: p.cost, Purpose: why, Estimated: p.estimated}
	if a.openLog() != log {
		c.Session = a.SessionID()
	}
	d, err := session.NewDraft(record.KindModelCalled, c)
	if err == nil {
		ctx, kept := detachedContext(ctx)
		_, err = log.Append(ctx, a.masked(d))
		err = kept(err)
	}
	return err
}

// recordAnswer is like recordUsage, for a call whose answer is an item of the agent's log. It does
// nothing if that is the run's log, because there the item itself contains the usage.
func (a *Agent) recordAnswer(ctx context.Context, p *callUsage) error {
	if a.openLog() == a.shared.runLog() {
		return nil
	}
	return a.recordUsage(ctx, p, forAgent)
}
