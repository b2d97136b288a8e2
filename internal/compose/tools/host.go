package tools

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
)

// agentHandle is what tools reach of the agent that they work for. It is made before the agent,
// and attached when that is there.
type agentHandle struct{ a atomic.Pointer[agent.Agent] }

func newHostAgent() *agentHandle { return &agentHandle{} }

func (h *agentHandle) attach(a *agent.Agent) { h.a.Store(a) }

// errNoHost says that a tool was called before there was an agent: a mistake of this program.
var errNoHost = errors.New("the tools have no agent yet")

// agent is the agent that the tools work for.
func (h *agentHandle) agent() (*agent.Agent, error) {
	if a := h.a.Load(); a != nil {
		return a, nil
	}
	return nil, errNoHost
}

// fire is [agent.Agent.Fire].
func (h *agentHandle) fire(ctx context.Context, in hook.Input) (hook.Outcome, error) {
	a, err := h.agent()
	if err != nil {
		return hook.Outcome{Event: in.Event}, err
	}
	return a.Fire(ctx, in)
}

// Attach tells the tools which agent they work for.
func (b *Toolbox) Attach(a *agent.Agent) {
	b.host.attach(a)
	b.follow(a)
}
