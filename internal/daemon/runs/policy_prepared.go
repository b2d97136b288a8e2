package runs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/policy"
)

// checkPrepared checks a change while the run has no agent, and completes it as the first agent
// would.
func (x *run) checkPrepared(ctx context.Context, c policy.Change) (policy.Change, error) {
	g, err := x.preparedGuards(ctx)
	if err != nil {
		return c, err
	}
	return g.Check(c)
}

// preparedChain returns the part of a tool's chain that is known before there is an agent.
func (x *run) preparedChain(ctx context.Context, tool string) (policy.Chain, error) {
	g, err := x.preparedGuards(ctx)
	if err != nil {
		return policy.Chain{}, err
	}
	return g.Guard(tool).Chain(), nil
}

// preparedGuards returns the guards of a run that has no agent yet. They contain the recorded
// policy and later changes, but not the settings.
func (x *run) preparedGuards(ctx context.Context) (*policy.Guards, error) {
	g, err := policy.New(&policy.Config{Mode: policy.Mode(x.opt.Spec.Permissions.Mode), Folders: []string{filepath.Clean(x.opt.Spec.Cwd)}})
	if x.past != nil {
		meta, missing := x.r.o.Sessions.Get(ctx, x.id)
		if missing != nil {
			return nil, missing
		}
		meta.CWD = x.opt.Spec.Cwd
		g, err = sessionpolicy.Guards(ctx, x.r.o.Sessions, meta)
	}
	if err != nil {
		return nil, err
	}
	for _, c := range x.changes {
		if err := g.Apply(c); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// checkTool rejects a change for a tool that no agent of the run can have. A tool of an MCP server
// may appear later.
func (x *run) checkTool(members []*runAgent, tool string) error {
	if tool == "" || strings.HasPrefix(tool, "mcp__") || x.r.o.Tools == nil && len(members) == 0 {
		return nil
	}
	names := slices.Clone(x.r.o.Tools)
	for _, a := range x.strategy.Agents {
		names = append(names, a.Tools...)
	}
	for _, m := range members {
		if m.made.Options.Tools != nil {
			for _, s := range m.made.Options.Tools.Specs() {
				names = append(names, s.Name)
			}
		}
	}
	if len(names) == 0 || slices.Contains(names, tool) { // the tools of a container are unknown here
		return nil
	}
	slices.Sort(names)
	return fmt.Errorf("%w: unknown tool %q; hint: the tools are %s", policy.ErrInvalid, tool, strings.Join(slices.Compact(names), ", "))
}

// PreparedChain returns the chain of a tool, or of every tool for "". The run must be prepared and
// not started. The chain contains the recorded policy and later changes, but not the settings. For
// any other run, the error is RUN_NOT_FOUND.
func (r *Runs) PreparedChain(ctx context.Context, id, tool string) (policy.Chain, error) {
	x := r.lookup(id)
	if x == nil {
		return policy.Chain{}, notFound(id)
	}
	made, err := x.r.locks.lockForRequest(ctx, x.agentLockName())
	if err != nil {
		return policy.Chain{}, err
	}
	defer made()
	x.mu.Lock()
	at := x.state
	x.mu.Unlock()
	if at != prepared {
		return policy.Chain{}, notFound(id)
	}
	return x.preparedChain(ctx, tool)
}
