package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// inWorkspace makes an agent that works in a workspace, for a run of the daemon.
func (m *maker) inWorkspace(ctx context.Context, r *compose.Request, n *runs.Need) (*runs.Made, error) {
	made, err := m.partsInWorkspace(ctx, r, n)
	if err != nil {
		return nil, err
	}
	return &runs.Made{Options: made.Options.Options, Close: made.Close, New: func(ctx context.Context, o agent.Options) (runs.Agent, error) {
		return newInSpace(ctx, made, o)
	}}, nil
}

func (m *maker) partsInWorkspace(ctx context.Context, r *compose.Request, n *runs.Need) (*compose.SpaceParts, error) {
	if n.Agent.Type == strategy.Command {
		return nil, outcome.Invalid("agent "+n.Agent.Name+" is a command, which a workspace does not run", "holdfast workspace exec runs one")
	}
	in, err := compose.OpenSpace(ctx, m.spaces, n.Spec.Workspace, n.Spec.Container.Agent)
	if err != nil {
		return nil, err
	}
	if n.Project != "" && n.Project != in.Settings.SessionProject() {
		return nil, outcome.Invalid("session "+n.Session+" is of an earlier workspace "+n.Spec.Workspace+", which was deleted", "start a new session in this one")
	}
	if !in.Own() && (r.Spec.Instructions.System != "" || r.Spec.Tools != nil) {
		return nil, outcome.Invalid("agent "+n.Agent.Name+": "+in.Kind+" takes neither a system prompt nor a list of tools", "leave them out of the strategy")
	}
	made, err := compose.MakeIn(ctx, r, in)
	if err != nil {
		return nil, err
	}
	made.Options.Ephemeral = n.Spec.Container.Ephemeral
	return made, nil
}

// newInSpace makes the agent of options that the run has completed.
func newInSpace(ctx context.Context, m *compose.SpaceParts, o agent.Options) (runs.Agent, error) {
	w := m.Options
	w.Options = o
	if w.Inside.Run.Limits.MaxTurns == 0 {
		w.Inside.Run.Limits.MaxTurns = o.MaxTurns
	}
	w.Inside.Name = o.Name
	a, err := m.In.All.Agent(ctx, m.In.Settings.Slug, w)
	if err != nil {
		return nil, err
	}
	m.Attach(a)
	return a, nil
}

// openSpaces opens the workspaces of the daemon, and brings their containers together
// with them. Without an engine the daemon does all else. Containers run on when the
// daemon ends, unless they are to stop.
func (d *daemonParts) openSpaces(ctx context.Context, p *command.Program, stopping bool) (*workspace.Workspaces, error) {
	w, err := workspace.New(d.home, &workspace.Options{Sessions: d.sessions, Clock: p.Now, Log: d.log})
	if err != nil {
		return nil, err
	}
	d.later(func() { _ = w.Close() })
	if stopping {
		d.later(func() { d.stopContainers(context.WithoutCancel(ctx), w) })
	}
	looking, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { d.reconcile(looking, w) })
	d.later(func() { stop(); done.Wait() })
	return w, nil
}

// stopContainers stops what runs in workspaces, once no run does.
func (d *daemonParts) stopContainers(ctx context.Context, w *workspace.Workspaces) {
	if list, err := w.List(ctx); err == nil && len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := w.StopAll(ctx); err != nil {
		d.log.Warn("containers were not stopped", "error", err)
	}
}

// reconcile removes containers that are nobody's. There is nothing to do, and no engine
// to look for, where there was no workspace ever.
func (d *daemonParts) reconcile(ctx context.Context, w *workspace.Workspaces) {
	list, err := w.List(ctx)
	if err == nil && len(list) == 0 {
		return
	}
	r, err := w.Reconcile(ctx)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, workspace.ErrNoEngine):
		d.log.Warn("workspaces cannot run", "error", err)
	case err != nil:
		d.log.Error("containers were not looked at", "error", err)
	default:
		for _, problem := range r.Problems {
			d.log.Warn("a container", "error", problem)
		}
		d.log.Info("containers of workspaces", "kept", r.Kept, "removed", r.Removed, "busy", r.Busy)
	}
}
