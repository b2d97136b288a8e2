package conversation

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// maxAgents is the maximum number of agents in the state. The oldest ones that have ended are
// dropped first.
const maxAgents = 200

// maxKnown is how many agents are remembered. A teammate that works again in a later run keeps its
// name and its prompt.
const maxKnown = 1000

// maxDoing is the size of the texts of an agent, in bytes.
const maxDoing = 200

// subRecord applies a relayed record of a sub-agent or a teammate.
func (c *Conversation) subRecord(r source, list []event.Event) {
	a := c.agent(r)
	r.agent = a.Name
	if r.Payload != nil {
		switch r.Kind {
		case record.KindOpened:
			read(r, func(_ source, o session.Opened) { a.Parent, a.Use = o.Caller, o.Use })
		case record.KindMetaChanged:
			read(r, func(_ source, p session.MetaPatch) {
				if p.Title != nil && *p.Title != "" {
					a.Prompt = brief(*p.Title)
				}
			})
		}
	}
	for _, e := range list {
		for sub, ok := e.(event.SubagentEvent); ok; sub, ok = e.(event.SubagentEvent) {
			if sub.Session == r.Session {
				a.Use = sub.Use
			}
			e = sub.Event
		}
		c.subEvent(r, a, e)
	}
}

// agent returns the agent of a record.
func (c *Conversation) agent(r source) *Agent {
	a := c.agents[r.Session]
	if a == nil {
		if len(c.agents) >= maxKnown {
			maps.DeleteFunc(c.agents, func(_ string, a *Agent) bool { return !a.listed })
		}
		a = &Agent{Session: r.Session, Name: r.Agent, Started: r.Time}
		c.agents[r.Session] = a
	}
	if a.listed {
		return a
	}
	if len(c.state.Agents) >= maxAgents {
		i := max(0, slices.IndexFunc(c.state.Agents, func(a *Agent) bool { return a.Ended }))
		c.state.Agents[i].listed = false
		c.state.Agents = slices.Delete(c.state.Agents, i, i+1)
	}
	a.listed = true
	c.state.Agents = append(c.state.Agents, a)
	return a
}

// Agents returns all known agents in the order of their start, also those of earlier runs that have
// ended. The caller must not change them.
func (c *Conversation) Agents() []*Agent {
	return slices.SortedFunc(maps.Values(c.agents), func(a, b *Agent) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Session, b.Session))
	})
}

// subEvent applies an event of a sub-agent.
func (c *Conversation) subEvent(r source, a *Agent, e event.Event) {
	switch e := e.(type) {
	case event.TurnStarted:
		if a.Ended { // a teammate that works again
			a.Started, a.Ended, a.Failed, a.Took = r.Time, false, false, 0
		}
	case event.TurnFinished:
		a.end(r.Time, e.Reason != event.ReasonCompleted)
	case event.ItemAppended:
		c.subItem(r, a, e.Item)
	case event.ToolStarted:
		a.Calls++
		a.Doing = brief(strings.TrimSpace(e.Tool + " " + runtext.Headline(e.Tool, e.Input, c.o.Cwd)))
	case event.ApprovalAsked:
		c.Ask(e.Request)
	case event.ApprovalResolved:
		c.resolved(r, e)
	}
}

// subOutput shows the last line of the output of a sub-agent's call.
func (c *Conversation) subOutput(e event.SubagentEvent) {
	out, ok := e.Event.(event.ToolOutputDelta)
	a := c.agents[e.Session]
	if !ok || a == nil || a.Ended {
		return
	}
	lines := strings.Split(strings.TrimSpace(out.Text), "\n")
	if text := brief(lines[len(lines)-1]); text != "" {
		a.Doing = text
	}
}

func (c *Conversation) subItem(r source, a *Agent, it transcript.Encoded) {
	switch it.Role() {
	case transcript.RoleUser:
		if a.Prompt == "" {
			a.Prompt = brief(it.Text())
		}
	case transcript.RoleAssistant:
		a.Tokens += record.UsageOf(it).Total()
		a.CostUSD += record.Item{Raw: r.Payload}.Cost()
		if text := brief(it.Text()); text != "" {
			a.Doing = text
		}
	}
}

// end marks an agent that no longer works.
func (a *Agent) end(at time.Time, failed bool) {
	a.Ended, a.Failed, a.Took = true, failed, max(0, at.Sub(a.Started))
}

// brief returns the first line of a text, cut to a few words.
func brief(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return truncate.String(strings.TrimSpace(line), maxDoing)
}
