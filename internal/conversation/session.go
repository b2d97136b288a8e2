package conversation

import (
	"cmp"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func (c *Conversation) opened(r source, o session.Opened) {
	c.state.Session, c.state.Title = o.SessionID, cmp.Or(o.Title, c.state.Title)
	c.setModel(cmp.Or(o.Model, c.state.Model))
	if o.Base == nil {
		return
	}
	// The parent's queue, calls, requests, policy and costs stay with the parent.
	s := &c.state
	s.Working, s.Doing, s.Mode, s.Calls, s.Questions, s.Queue, s.Agents = false, "", "", nil, nil, nil, nil
	s.Usage.CostUSD, s.Usage.BudgetUSD, s.Usage.Input, s.Usage.Output = 0, 0, 0, 0
	c.run = run{}
	clear(c.waiting)
	clear(c.saved)
	clear(c.agents)
	c.note(r, false, "forked from %s", o.Base.Parent)
}

func (c *Conversation) metaChanged(_ source, p session.MetaPatch) {
	if p.Title != nil {
		c.state.Title = *p.Title
	}
	if p.Model != nil {
		c.setModel(*p.Model)
	}
}

func (c *Conversation) setModel(name string) {
	if name == c.state.Model {
		return
	}
	c.state.Model, c.state.Usage.Window = name, 0
	if c.o.Window != nil && name != "" {
		c.state.Usage.Window = c.o.Window(name)
	}
}

func (c *Conversation) modelCalled(_ source, p record.ModelCalled) {
	c.used(p.Usage, p.Cost)
}

// used adds the usage of a model call of the run.
func (c *Conversation) used(u transcript.Usage, usd float64) {
	c.state.Usage.Input += u.Input + u.CacheRead + u.CacheWrite
	c.state.Usage.Output += u.Output
	c.state.Usage.CostUSD += usd
	c.run.turn.Usage = c.run.turn.Usage.Add(u)
	c.run.turn.CostUSD += usd
}
