package runs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// Change changes the policy of a run. The change applies to all agents of the run, including those
// that are created later. It applies from the next decision on. When Change returns, the change is
// recorded; the run's subscribers receive the new chains. The errors are RUN_NOT_FOUND,
// [policy.ErrStale] and [policy.ErrInvalid].
func (r *Runs) Change(ctx context.Context, id string, c policy.Change, by Actor) (version int, err error) {
	x := r.lookup(id)
	if x == nil || x.isOver() {
		return 0, notFound(id)
	}
	c.By = by.Name
	made, err := x.r.locks.lockForRequest(ctx, x.agentLockName()) // while the lock is held, no agent is created
	if err != nil {
		return 0, err
	}
	defer made()
	if x.isOver() {
		return 0, notFound(id)
	}
	members := x.existingAgents()
	if c.IfVersion != nil && len(members) > 1 {
		return 0, &Error{Code: wire.CodeConflict, Message: "ifVersion is only for a run of one agent, because each agent has its own version"}
	}
	if err := x.checkTool(members, toolOf(c)); err != nil {
		return 0, err
	}
	if x.shared != nil {
		x.setStartMode(c.Mode)
		return x.changeShared(ctx, members, c)
	}
	if len(members) == 0 {
		if c, err = x.checkPrepared(ctx, c); err != nil {
			return 0, err
		}
		version = c.Version
	}
	for _, m := range targets(members, c.Revoke) {
		done, err := m.agent.Change(ctx, c)
		if err != nil {
			if errors.Is(err, agent.ErrClosed) {
				return 0, notFound(id)
			}
			return 0, err
		}
		version = done.Version
		m.recordPolicy(ctx, done)
	}
	if c.Revoke != "" && len(members) > 0 {
		return version, nil
	}
	x.setStartMode(c.Mode)
	c.IfVersion = nil
	return version, x.applyToAgents(ctx, c)
}

// setStartMode sets the mode that the start of a prepared run will record.
func (x *run) setStartMode(m policy.Mode) {
	if m == "" || x.startRecorded() {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.opt.Spec.Permissions.Mode, x.info.Mode = string(m), string(m)
}

// changeShared changes the policy of a run whose agents share one policy.
func (x *run) changeShared(ctx context.Context, members []*runAgent, c policy.Change) (version int, err error) {
	done, err := x.shared.Change(ctx, c)
	switch {
	case errors.Is(err, session.ErrClosed):
		return 0, notFound(x.id)
	case err != nil:
		return 0, err
	}
	for _, m := range members {
		m.recordPolicy(ctx, done)
	}
	if len(members) > 0 || !x.startRecorded() {
		return done.Version, nil
	}
	chain, err := x.shared.Chain(toolOf(c)) // no agent emits the change
	if err == nil {
		_, err = x.append(ctx, wire.RunEvent{Event: wire.RunPolicy, Segment: x.segment, By: c.By, Chains: []policy.Chain{chain}}, api.StatusRunning)
	}
	return done.Version, err
}

// targets returns the agents that a change applies to: for the revocation of a grant, the agents
// that have it. If no agent has it, targets returns one agent, which then reports that.
func targets(members []*runAgent, grant string) []*runAgent {
	if grant == "" {
		return members
	}
	var list []*runAgent
	for _, m := range members {
		if slices.ContainsFunc(m.agent.Guards().Grants(), func(g policy.Grant) bool { return g.ID == grant }) {
			list = append(list, m)
		}
	}
	if list == nil && len(members) > 0 {
		list = members[:1]
	}
	return list
}

// applyToAgents applies a change to those agents that do not exist at the moment. It is recorded in
// the sessions of the agents that have worked before, and in the run's log for the other agents.
func (x *run) applyToAgents(ctx context.Context, c policy.Change) error {
	if soleAgent(x.strategy) != "" || !x.startRecorded() { // the only agent has it, or start will record it
		if len(x.existingAgents()) == 0 {
			x.changes = append(x.changes, c)
		}
		return nil
	}
	fresh, err := x.recordInSessions(ctx, c)
	if err != nil || !fresh {
		return err
	}
	x.changes = append(x.changes, c)
	e := wire.RunEvent{Event: wire.RunPolicy, Segment: x.segment, By: c.By, Changes: []policy.Change{c}}
	if len(x.existingAgents()) == 0 { // no agent emits the change
		chain, err := x.preparedChain(ctx, toolOf(c))
		if err != nil {
			return err
		}
		e.Chains = []policy.Chain{chain}
	}
	_, err = x.append(ctx, e, api.StatusRunning)
	return err
}

// startRecorded reports whether the start of the segment is recorded.
func (x *run) startRecorded() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.startedAt.IsZero()
}

// recordInSessions records a change in the sessions of those agents that have worked before but do not exist
// at the moment. It returns true if some agents have not worked yet.
func (x *run) recordInSessions(ctx context.Context, c policy.Change) (fresh bool, err error) {
	current := x.existingAgents()
	for _, a := range x.strategy.Agents {
		if a.Type == strategy.User || slices.ContainsFunc(current, func(m *runAgent) bool { return m.spec.Name == a.Name }) {
			continue
		}
		is, err := x.isUnused(ctx, x.sessionOf(a.Name))
		switch {
		case err != nil:
			return false, err
		case is:
			fresh = true
			continue
		}
		same := func(*policy.Guards) (policy.Change, error) { return c, nil }
		if _, err := sessionpolicy.Change(ctx, x.r.o.Sessions, x.sessionOf(a.Name), same); err != nil {
			return false, fmt.Errorf("policy of agent %s: %w", a.Name, err)
		}
	}
	return fresh, nil
}

// isUnused reports whether an agent has not worked yet. In that case, its log does not contain the
// policy changes that were made for it.
func (x *run) isUnused(ctx context.Context, id string) (bool, error) {
	m, err := x.r.o.Sessions.Get(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return true, nil
	}
	return err == nil && m.MessageCount == 0, err
}

// applyEarlyChanges applies the changes that were made while the run was only prepared. It returns
// the changes that the run's log must keep for agents that have not worked yet.
func (x *run) applyEarlyChanges(ctx context.Context) ([]policy.Change, error) {
	if soleAgent(x.strategy) != "" {
		return nil, nil // its agent exists and has them
	}
	if x.shared != nil { // the shared policy emits these changes, including those that an earlier version recorded
		list := x.changes
		if x.resumed != nil {
			list = append(slices.Clone(x.resumed.changes), list...)
		}
		for _, c := range list {
			if _, err := x.shared.Change(ctx, c); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	for _, c := range x.changes {
		if _, err := x.recordInSessions(ctx, c); err != nil {
			return nil, err
		}
	}
	if x.resumed != nil {
		return append(slices.Clone(x.resumed.changes), x.changes...), nil
	}
	return x.changes, nil
}

// changesFor returns the changes for an agent that is being created.
func (x *run) changesFor(ctx context.Context, id string) ([]policy.Change, error) {
	if soleAgent(x.strategy) != "" || len(x.changes) == 0 {
		return x.changes, nil
	}
	if x.shared != nil {
		return nil, nil
	}
	fresh, err := x.isUnused(ctx, id)
	if err != nil || !fresh {
		return nil, err
	}
	return x.changes, nil
}

// toolOf returns the tool that a change applies to, or "" if the change applies to all tools.
func toolOf(c policy.Change) string {
	switch {
	case c.Patch != nil:
		return c.Patch.Tool
	case c.Grant != nil:
		return c.Grant.Tool
	}
	return ""
}

func (x *run) isOver() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == endRecorded || x.state == preparing
}

// existingAgents lists the existing agents of the run in the order of the strategy.
func (x *run) existingAgents() []*runAgent {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []*runAgent
	for _, a := range x.strategy.Agents {
		if m := x.agents[a.Name]; m != nil {
			list = append(list, m)
		}
	}
	return list
}

// policyChanged handles a policy change. The change may come from a decision or from a request.
func (m *runAgent) policyChanged(ctx context.Context, e event.PolicyChanged) {
	if !e.Change.Ended {
		m.recordPolicy(ctx, e.Change)
	}
}

// recordPolicy records in the run's log the chains that a change affects: the chain of the change's
// tool, or all chains. It does nothing if they were already recorded. A later change may already
// apply.
func (m *runAgent) recordPolicy(ctx context.Context, c policy.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.Version > 0 && m.changed[c.Version] || !m.x.begun() {
		return
	}
	e := wire.RunEvent{Event: wire.RunPolicy, Segment: m.x.segment, Agent: m.spec.Name, Chains: m.chains(toolOf(c))}
	if _, err := m.x.append(ctx, e); err != nil {
		m.x.r.o.Log.Warn("cannot record a change of policy", slog.String("run", m.x.id), slog.Any("error", err))
		return
	}
	if m.changed == nil {
		m.changed = map[int]bool{}
	}
	m.changed[c.Version] = true
}

// chains returns the chains of the agent's tools, or of one tool.
func (m *runAgent) chains(tool string) []policy.Chain {
	names := []string{tool}
	if tool == "" {
		names = nil
		if m.made.Options.Tools != nil {
			for _, s := range m.made.Options.Tools.Specs() {
				names = append(names, s.Name)
			}
		}
	}
	list := make([]policy.Chain, 0, len(names))
	for _, n := range names {
		list = append(list, m.agent.Guards().Guard(n).Chain())
	}
	slices.SortFunc(list, func(a, b policy.Chain) int { return strings.Compare(a.Tool, b.Tool) })
	return list
}

// Chains returns the chains of the guards of a run's agents, and the grants. The error is
// RUN_NOT_FOUND if the run is not active.
func (r *Runs) Chains(id string) ([]policy.Chain, []policy.Grant, error) {
	x := r.lookup(id)
	if x == nil || !x.begun() {
		return nil, nil, notFound(id)
	}
	var chains []policy.Chain
	var grants []policy.Grant
	for _, m := range x.existingAgents() {
		chains = append(chains, m.chains("")...)
		grants = append(grants, m.agent.Guards().Grants()...)
	}
	return chains, grants, nil
}
