package runs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/daemon/wire"
	"github.com/holdfast-dev/holdfast/policy"
)

// Change changes the policy of a run: of all its agents, and of those that are made
// later. It is in force from the next decision on and on record when Change returns;
// the chains after it are told to the run's subscribers. RUN_NOT_FOUND;
// [policy.ErrStale] and [policy.ErrInvalid].
func (r *Runs) Change(ctx context.Context, id string, c policy.Change, by Actor) (version int, err error) {
	x := r.lookup(id)
	if x == nil || x.ended() {
		return 0, notFound(id)
	}
	c.By = by.Name
	x.making.Lock() // no agent is made while the change is on its way
	defer x.making.Unlock()
	members := x.all()
	if c.IfVersion != nil && len(members) > 1 {
		return 0, &Error{Code: wire.CodeConflict, Message: "ifVersion is for a run of one agent: each agent counts its own"}
	}
	if err := checkAlone(members, c); err != nil {
		return 0, err
	}
	for _, m := range members {
		done, err := m.agent.Change(ctx, c)
		if err != nil {
			if errors.Is(err, agent.ErrClosed) {
				return 0, notFound(id)
			}
			return 0, err
		}
		version = done.Version
		m.tellPolicy(ctx, toolOf(c))
	}
	if c.Revoke == "" {
		c.IfVersion = nil
		x.mu.Lock()
		x.changes = append(x.changes, c)
		x.mu.Unlock()
	}
	return version, nil
}

// checkAlone refuses what no agent would take, before there is one.
func checkAlone(members []*member, c policy.Change) error {
	if len(members) > 0 {
		return nil
	}
	g, err := policy.New(nil)
	if err == nil {
		_, err = g.Check(c)
	}
	return err
}

func toolOf(c policy.Change) string {
	if c.Patch != nil {
		return c.Patch.Tool
	}
	return ""
}

func (x *run) ended() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == over || x.state == preparing
}

// all lists the agents of the run that there are, in the order of the strategy.
func (x *run) all() []*member {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []*member
	for _, a := range x.strategy.Agents {
		if m := x.members[a.Name]; m != nil {
			list = append(list, m)
		}
	}
	return list
}

// policyChanged tells of a change that came from a decision, or from elsewhere.
func (m *member) policyChanged(ctx context.Context, e agent.PolicyChanged) {
	if e.Change.Ended {
		return
	}
	name := toolOf(e.Change)
	if e.Change.Grant != nil {
		name = e.Change.Grant.Tool
	}
	m.tellPolicy(ctx, name)
}

// tellPolicy puts the chains of a tool, or with "" of all tools, on the run's record,
// unless those of this version are there.
func (m *member) tellPolicy(ctx context.Context, tool string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	version := m.agent.Guards().Version()
	if version <= m.version || !m.x.begun() {
		return
	}
	e := wire.RunEvent{Event: wire.RunPolicy, Segment: m.x.segment, Agent: m.spec.Name, Chains: m.chains(tool)}
	if _, err := m.x.append(ctx, e); err != nil {
		m.x.r.o.Log.Warn("a change of policy was not told", slog.String("run", m.x.id), slog.Any("error", err))
		return
	}
	m.version = version
}

// chains are those of the agent's tools, or of one.
func (m *member) chains(tool string) []policy.Chain {
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

// Chains are the chains of the guards of a run's agents, and what was granted in it.
// RUN_NOT_FOUND for a run that does not run.
func (r *Runs) Chains(id string) ([]policy.Chain, []policy.Grant, error) {
	x := r.lookup(id)
	if x == nil || !x.begun() {
		return nil, nil, notFound(id)
	}
	var chains []policy.Chain
	var grants []policy.Grant
	for _, m := range x.all() {
		chains = append(chains, m.chains("")...)
		grants = append(grants, m.agent.Guards().Grants()...)
	}
	return chains, grants, nil
}
