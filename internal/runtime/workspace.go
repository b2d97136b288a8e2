package runtime

import (
	"context"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// inWorkspace makes the parts of an agent in a workspace, for a run of the daemon.
func (rt *Runtime) inWorkspace(ctx context.Context, r *compose.Request, n *runs.AgentRequest) (*runs.AgentParts, error) {
	made, err := rt.partsInWorkspace(ctx, r, n)
	if err != nil {
		return nil, err
	}
	return &runs.AgentParts{Options: made.Options.Options, Close: made.Close, New: func(ctx context.Context, o agent.Options) (runs.Agent, error) {
		return newWorkspaceAgent(ctx, made, o)
	}}, nil
}

func (rt *Runtime) partsInWorkspace(ctx context.Context, r *compose.Request, n *runs.AgentRequest) (*compose.WorkspaceParts, error) {
	if n.Agent.Type == strategy.Command {
		return nil, outcome.Invalid("agent "+n.Agent.Name+" is a command; workspaces do not run commands as agents", "run it with holdfast workspace exec")
	}
	in, err := compose.OpenWorkspace(ctx, rt.Workspaces, n.Spec.Workspace, n.Spec.Container.Agent)
	if err != nil {
		return nil, err
	}
	if n.Project != "" && n.Project != in.Settings.SessionProject() {
		return nil, outcome.Invalid("session "+n.Session+" belongs to a deleted workspace that was also named "+n.Spec.Workspace, "start a new session in this one")
	}
	if !in.IsBuiltin() && (r.Spec.Instructions.System != "" || r.Spec.Tools != nil) {
		return nil, outcome.Invalid("agent "+n.Agent.Name+": "+in.Kind+" accepts no system prompt and no list of tools", "leave them out of the strategy")
	}
	return compose.MakeInWorkspace(ctx, r, in)
}

// newWorkspaceAgent creates the agent from options that the run has completed.
func newWorkspaceAgent(ctx context.Context, m *compose.WorkspaceParts, o agent.Options) (runs.Agent, error) {
	w := m.Options
	w.Options = o
	if w.Inside.Run.Limits.MaxTurns == 0 {
		w.Inside.Run.Limits.MaxTurns = o.Limits.MaxTurns
	}
	w.Inside.Name = o.AgentName
	a, err := m.Workspace.All.Agent(ctx, m.Workspace.Settings.Slug, w)
	if err != nil {
		return nil, err
	}
	m.Attach(a)
	return a, nil
}
