package agent

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// callUsage is what a model call has used.
type callUsage struct {
	model     string
	usage     transcript.Usage
	cost      float64
	estimated bool // it was cut off before the provider said what it used
}

// What a call was made for, as model.called records have it.
const (
	forAgent   = "agent"   // the answer of an agent that works for the run
	forAttempt = "attempt" // it failed
	forTool    = "aside"   // a tool's question
	forMutator = "mutator" // a summary, for example
)

// attempt makes one attempt of a model call, within the budget of the run, and counts it. told
// gets what comes before the answer; nil: nobody wants it. The caller records what was paid,
// which is nil for nothing.
func (a *Agent) attempt(ctx context.Context, m model.Model, req *model.Request, aside bool, told func(model.Event)) (model.Answer, *callUsage, error) {
	info := m.Info()
	held, err := a.budget.reserve(ctx, a, m, req, aside)
	if err != nil {
		return model.Answer{}, nil, err
	}
	var p *callUsage
	defer func() { // whatever the model does
		if p == nil {
			p = &callUsage{}
		}
		a.budget.settle(held, p.cost, p.usage.Total())
	}()
	got := 0
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			p = usageRecord(info, req, err, got)
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
		if told != nil {
			told(ev)
		}
	}
	err = &model.Error{Kind: model.ErrorMalformed, Provider: info.Provider, Message: "the model stream ended without an answer"}
	p = usageRecord(info, req, err, got)
	a.count(p)
	return model.Answer{}, p, err
}

// usageRecord is what a call has used that failed: what the provider says, and when a part of the
// answer had come without a word of that, about what its bytes amount to.
func usageRecord(info model.Info, req *model.Request, err error, got int) *callUsage {
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

// sizeOf is the size of a request in bytes.
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

// count adds a call to what this agent and those that it works for have used.
func (a *Agent) count(p *callUsage) {
	if p == nil {
		return
	}
	for at := a; at != nil; at = at.opt.parent {
		at.total.add(p.model, p.usage, p.cost)
	}
}

// recordPaid has a call on record that no item of the run's own log tells of.
func (a *Agent) recordPaid(ctx context.Context, p *callUsage, why string) error {
	log := a.shared.home()
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

// recordAnswer is recordPaid for a call whose answer is an item of the agent's log: that of the
// run itself tells of it.
func (a *Agent) recordAnswer(ctx context.Context, p *callUsage) error {
	if a.openLog() == a.shared.home() {
		return nil
	}
	return a.recordPaid(ctx, p, forAgent)
}
