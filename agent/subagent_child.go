package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// spawnParams describes a sub-agent to start.
type spawnParams struct {
	kind   Definition
	name   string // the name of a teammate, or ""
	title  string
	tag    string
	use    string // the id of the tool use that starts it
	resume string // the session to resume, or ""
	mode   policy.Mode
	extra  []tool.Tool
}

// newChild makes a sub-agent without starting it. The caller closes the setup when the sub-agent
// has ended.
func (s *Subagents) newChild(ctx context.Context, p *Agent, b spawnParams) (*Agent, *SubagentSetup, error) {
	m, fallback, err := s.model(p, b.kind)
	if err != nil {
		return nil, nil, err
	}
	o, err := s.options(ctx, p, b)
	if err != nil {
		return nil, nil, err
	}
	o.Model.Fallback = fallback
	with, err := s.equip(ctx, p, b, o)
	if err != nil {
		return nil, nil, err
	}
	a, err := New(m, o)
	if err != nil {
		return nil, nil, errors.Join(err, with.Close())
	}
	s.mu.Lock()
	s.live = append(s.live, a)
	s.mu.Unlock()
	closeSetup := with.Close
	with.Close = func() error {
		s.mu.Lock()
		s.live = slices.DeleteFunc(s.live, func(o *Agent) bool { return o == a })
		s.mu.Unlock()
		return closeSetup()
	}
	return a, with, nil
}

// Subagent returns the sub-agent or teammate of the agent that works in a session, or nil. The caller
// may submit input to it and read its state; only the agent runs its turns.
func (a *Agent) Subagent(session string) *Agent {
	s := a.opt.Subagents
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.live, func(a *Agent) bool { return a.SessionID() == session }); i >= 0 {
		return s.live[i]
	}
	return nil
}

// StopSubagent stops the sub-agent that works in a session, or the turn of the teammate, because the
// user wants it. The agent's model reads that the user did it. It returns false if none works there,
// and the errors of [Agent.QueueNotification].
func (a *Agent) StopSubagent(ctx context.Context, session string) (working bool, err error) {
	child := a.Subagent(session)
	if child == nil {
		return false, nil
	}
	for _, m := range a.opt.Subagents.Teammates() {
		if m.agent != child {
			continue
		}
		if !m.Working() {
			return false, nil
		}
		child.Interrupt()
		return true, a.QueueNotification(ctx, transcript.Text{Text: "The user stopped what the teammate " + m.Name() + " was doing."})
	}
	child.mu.Lock()
	child.userStopped = true // also if its turn has not started
	child.mu.Unlock()
	child.Interrupt()
	return true, nil
}

// stoppedByUser reports whether StopSubagent stopped the sub-agent.
func (a *Agent) stoppedByUser() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.userStopped
}

// approvals returns the open approval requests of the sub-agents.
func (s *Subagents) approvals() (list []approval.Request) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	live := slices.Clone(s.live)
	s.mu.Unlock()
	for _, a := range live {
		list = append(list, a.approvals()...)
	}
	return list
}

// approvals returns the open approval requests of the agent itself.
func (a *Agent) approvals() []approval.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.loop == nil || a.loop.round == nil {
		return nil
	}
	return a.loop.round.approvals()
}

// model returns the model of a kind. If that is the parent's model, it also returns the parent's
// fallback.
func (s *Subagents) model(p *Agent, d Definition) (m, fallback model.Model, err error) {
	switch {
	case d.Model == "" || d.Model == "inherit" || d.Model == p.model.Info().Model:
		return p.model, p.opt.Model.Fallback, nil
	case s.o.Model == nil:
		return nil, nil, fmt.Errorf("model %s is not available; the only model is %s", d.Model, p.model.Info().Model)
	}
	m, err = s.o.Model(d.Model)
	return m, nil, err
}

// narrowKind restricts the tools that the rules of a kind name. For the life of the sub-agent, it
// can use these tools only for calls that the rules allow.
func narrowKind(o *Options, d Definition) error {
	if len(d.ToolRules) == 0 {
		return nil
	}
	lim := policy.Limit{ID: "kind", Name: "sub-agent " + d.Name, Rules: d.ToolRules, Turn: "all"}
	for _, t := range o.Tools.Tools() {
		name := t.Spec().Name
		if !slices.ContainsFunc(d.ToolRules, func(rule string) bool { return strings.HasPrefix(rule, name+"(") }) {
			lim.Exempt = append(lim.Exempt, name)
		}
	}
	c, err := o.Permissions.Guards.Check(policy.Change{Limit: &lim, By: lim.Name})
	if err != nil {
		return err
	}
	return o.Permissions.Guards.Apply(c)
}

// equip gives a sub-agent its tools. The caller closes the setup when the sub-agent has ended.
func (s *Subagents) equip(ctx context.Context, p *Agent, b spawnParams, o *Options) (_ *SubagentSetup, err error) {
	p.mu.Lock()
	e := SubagentSetup{Tools: p.tools, Instructions: p.opt.Instructions}
	p.mu.Unlock()
	without := []string{s.tool.Spec().Name}
	if s.o.Tools != nil {
		at := SubagentRequest{Definition: b.kind, Name: b.name, Session: o.Session.SessionID, CWD: o.Session.Opened.CWD}
		if e, err = s.o.Tools(ctx, at); err != nil {
			return nil, err
		}
	} else if p.opt.Background != nil {
		without = append(without, "TaskOutput", "TaskStop") // these tools would show the parent's tasks
	}
	if e.Close == nil {
		e.Close = func() error { return nil }
	}
	if e.OnEnd == nil {
		e.OnEnd = noRemains
	}
	without = append(without, expandServers(e.Tools, b.kind.DisallowedTools)...)
	if slices.Contains(b.kind.DisallowedTools, "mcp__*") {
		without = append(without, withPrefix(e.Tools, "mcp__")...)
	}
	if b.kind.Tools != nil {
		e.Tools = e.Tools.Select(expandServers(e.Tools, b.kind.Tools)...)
	}
	if e.Tools, err = withMissing(e.Tools, e.ExtraTools); err == nil && e.Folder != "" {
		err = o.Permissions.Guards.OwnFolder(e.Folder)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	for _, t := range b.extra { // these tools replace the parent's tools of the same name
		without = append(without, t.Spec().Name)
	}
	o.Tools = e.Tools.Exclude(without...)
	if err := narrowKind(o, b.kind); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if len(b.extra) > 0 {
		if o.Tools, err = tool.NewRegistry(append(o.Tools.Tools(), b.extra...)...); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	o.Background, o.RestoreDir, o.Instructions, o.LoopObservers, o.EnterDir, o.OnLeaseLost = e.Background, e.RestoreDir, e.Instructions, e.LoopObservers, e.EnterDir, e.OnLeaseLost
	return &e, nil
}

// withMissing adds the tools whose names are not yet in a registry.
func withMissing(r *tool.Registry, more []tool.Tool) (*tool.Registry, error) {
	list := r.Tools()
	for _, t := range more {
		if _, ok := r.Lookup(t.Spec().Name); !ok {
			list = append(list, t)
		}
	}
	if len(more) == 0 || len(list) == len(r.Tools()) {
		return r, nil
	}
	return tool.NewRegistry(list...)
}

// expandServers returns names, together with the tools of the MCP servers among them.
func expandServers(r *tool.Registry, names []string) []string {
	list := slices.Clone(names)
	for _, n := range names {
		server, ok := strings.CutPrefix(strings.TrimSuffix(n, "__*"), "mcp__")
		if ok && server != "" && !strings.Contains(server, "__") {
			list = append(list, withPrefix(r, "mcp__"+server+"__")...)
		}
	}
	return list
}

func withPrefix(r *tool.Registry, prefix string) (names []string) {
	for _, s := range r.Specs() {
		if strings.HasPrefix(s.Name, prefix) {
			names = append(names, s.Name)
		}
	}
	return names
}

func noRemains(context.Context) string { return "" }

// close closes the setup of a sub-agent, and shows the user what the sub-agent left behind.
func (e *SubagentSetup) close(ctx context.Context, p *Agent) error {
	if text := e.OnEnd(ctx); text != "" {
		p.Notice(text)
	}
	return e.Close()
}

// options returns the options of a sub-agent, most of them from its parent.
func (s *Subagents) options(ctx context.Context, p *Agent, b spawnParams) (*Options, error) {
	d := b.kind
	name := cmp.Or(b.name, d.Name)
	guards, err := p.guards.Child(name, d.Mode)
	if err == nil && b.mode != "" {
		guards, err = guards.Child(name, b.mode)
	}
	if err != nil {
		return nil, err
	}
	restore, err := p.childSession(ctx, b)
	if err != nil {
		return nil, err
	}
	o := &Options{
		Sessions: p.opt.Sessions, Session: restore, NoPersist: p.opt.NoPersist,
		System: d.Prompt, Model: ModelOptions{
			MaxTokens: p.opt.Model.MaxTokens,
			Effort:    p.opt.Model.Effort,
			Retry:     p.opt.Model.Retry,
		},
		Permissions: Permissions{Guards: guards, Ask: p.opt.Permissions.Ask, AskTimeout: p.opt.Permissions.AskTimeout, Sandbox: p.opt.Permissions.Sandbox, Profile: p.opt.Permissions.Profile}, AgentName: name,
		Hooks: Hooks{Registry: p.opt.Hooks.Registry}, Mask: p.opt.Mask, Limits: Limits{MaxTurns: p.maxTurnsOf(d)}, Compact: p.opt.Compact, Mutators: p.opt.Mutators,
		Clock: p.opt.Clock, NewID: p.opt.NewID, Sleep: p.opt.Sleep, Rand: p.opt.Rand,
		parent: p, kind: d.Name,
	}
	if p.opt.Model.Retry.Max == 0 { // 0 after fill means that there are no retries
		o.Model.Retry.Max = -1
	}
	return o, nil
}

// maxTurnsOf returns the maximum number of model calls of a sub-agent. This is the maximum of its
// kind, but never more than the maximum of the run.
func (a *Agent) maxTurnsOf(d Definition) int {
	if n := a.opt.Limits.MaxTurns; n > 0 && (d.MaxTurns == 0 || d.MaxTurns > n) {
		return n
	}
	return d.MaxTurns
}

// childSession returns the session of a sub-agent. This is a new session, the resumed session, or a
// fork of the resumed session if that belongs to a session from which this one was forked.
func (a *Agent) childSession(ctx context.Context, b spawnParams) (session.RestoreOptions, error) {
	opened := session.Opened{
		Owner: a.rootID(), Caller: a.SessionID(), Use: b.use, CWD: a.cwd(), Title: b.title, Tag: b.tag,
		User: a.opt.Session.Opened.User, Project: a.opt.Session.Opened.Project,
	}
	r := session.RestoreOptions{Opened: opened}
	if b.resume == "" || a.opt.Sessions == nil {
		if b.resume != "" {
			return r, errors.New("resume: no store is configured; hint: set Options.Sessions")
		}
		return r, nil
	}
	m, err := a.opt.Sessions.Get(ctx, b.resume)
	if err != nil {
		return r, fmt.Errorf("resume: %w", err)
	}
	caller, _, err := a.opt.Sessions.StartedBy(ctx, m)
	if err != nil {
		return r, fmt.Errorf("resume: %w", err)
	}
	r.SessionID, r.MustExist = m.ID, true
	if r.Opened.CWD != "" { // only if the parent has a current directory
		r.Opened.CWD = cmp.Or(m.CWD, r.Opened.CWD)
	}
	for at := a.SessionID(); at != "" && caller != ""; {
		if at == caller {
			r.Fork = at != a.SessionID()
			return r, nil
		}
		ancestor, err := a.opt.Sessions.Get(ctx, at)
		if err != nil {
			return r, fmt.Errorf("resume: %w", err)
		}
		at = ancestor.Parent
	}
	return r, fmt.Errorf("resume: %s is not a sub-agent of this session", b.resume)
}

// Model returns the agent's model.
func (a *Agent) Model() model.Model { return a.model }

// rootID returns the id of the run's session. This is the owner of the agent's session, or the
// session itself if it has no owner.
func (a *Agent) rootID() string {
	if log := a.openLog(); log != nil {
		if owner := log.Meta().Owner; owner != "" {
			return owner
		}
	}
	return a.SessionID()
}

// queueEvent queues an event of a sub-agent or of a background task. It drops the deltas of answers,
// and all events while the queue is full. Output leaves most of the queue to other events.
func (a *Agent) queueEvent(e event.Event) {
	limit, of := maxPendingEvents, e
	if sub, ok := e.(event.SubagentEvent); ok {
		of = sub.Event
	}
	switch of.(type) {
	case event.TextDelta, event.ThinkingDelta, event.ToolInputDelta:
		return
	case event.ToolOutputDelta:
		limit /= 4
	}
	a.mu.Lock()
	if len(a.pendingEvents) < limit {
		a.pendingEvents = append(a.pendingEvents, e)
	}
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// maxPendingEvents is the maximum number of events of sub-agents that wait while no turn runs.
const maxPendingEvents = 4096
