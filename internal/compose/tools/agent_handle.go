package tools

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
)

// agentHandle gives tools access to their agent. It is created before the agent and attached later.
type agentHandle struct{ a atomic.Pointer[agent.Agent] }

func newAgentHandle() *agentHandle { return &agentHandle{} }

func (h *agentHandle) attach(a *agent.Agent) { h.a.Store(a) }

// errNoAgent reports that a tool was called before the agent exists. This is a bug of this program.
var errNoAgent = errors.New("the tools have no agent yet")

// agent returns the tools' agent.
func (h *agentHandle) agent() (*agent.Agent, error) {
	if a := h.a.Load(); a != nil {
		return a, nil
	}
	return nil, errNoAgent
}

// fire calls [agent.Agent.Fire].
func (h *agentHandle) fire(ctx context.Context, in hook.Input) (hook.Outcome, error) {
	a, err := h.agent()
	if err != nil {
		return hook.Outcome{Event: in.Event}, err
	}
	return a.Fire(ctx, in)
}

// Attach connects the tools to their agent.
func (b *Toolbox) Attach(a *agent.Agent) {
	b.agentHandle.attach(a)
	b.followServers(a)
}
