package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/deltas"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// runAgent is an agent of a run. It is created when it is first needed, and exists until the
// segment ends.
type runAgent struct {
	x       *run
	spec    strategy.Agent
	session string
	made    *AgentParts
	agent   Agent

	turns  sync.Mutex    // held by the current step
	opened bool          // the notices from opening its session are recorded in the run's log; guarded by turns
	masker streamMasker  // used by the loop's goroutine
	output outputMaskers // used by the loop's goroutine
	result *event.Result // result of the last turn; used by the loop's goroutine, then by the goroutine that ends the run

	between bool // it waits between two turns of a step; guarded by the steering lock
	calls   int  // tool calls of the open round without a result; used by the loop's goroutine

	mu      sync.Mutex
	changed map[int]bool // the policy versions that the run's log already contains
}

func (m *AgentParts) close() {
	if m.Close != nil {
		m.Close()
	}
}

// ensureAgent returns an agent of the run. It creates the agent on first use.
func (x *run) ensureAgent(ctx context.Context, name string) (*runAgent, error) {
	made, err := x.r.locks.lock(ctx, x.agentLockName())
	if err != nil {
		return nil, err
	}
	defer made()
	x.mu.Lock()
	m := x.agents[name]
	x.mu.Unlock()
	if m != nil {
		return m, nil
	}
	spec, ok := x.agentSpec(name)
	if !ok {
		return nil, fmt.Errorf("unknown agent %q", name)
	}
	m = &runAgent{x: x, spec: spec, session: x.sessionOf(name)}
	changes, err := x.changesFor(ctx, m.session)
	if err != nil {
		return nil, err
	}
	if err := m.make(ctx); err != nil {
		return nil, err
	}
	for _, c := range changes { // in the order of arrival
		if _, err := m.agent.Change(ctx, c); err != nil {
			_ = m.close(false, false) // the returned error has the cause
			return nil, fmt.Errorf("policy of agent %s: %w", name, err)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.agents[name] = m
	return m, nil
}

func (m *runAgent) make(ctx context.Context) (err error) {
	x := m.x
	defer x.r.recoverPanic(x.id, &err)
	made, err := x.r.o.Make(ctx, AgentRequest{
		Run: x.id, Session: m.session, Agent: m.spec, Spec: x.opt.Spec, Environ: x.opt.Environ, Project: x.project, Actor: x.opt.Actor,
	})
	if err != nil {
		return err
	}
	m.made = made
	m.masker.mask = made.Options.Mask
	o := made.Options
	o.Sessions = x.r.o.Sessions
	s := &x.opt.Spec
	o.Session = session.RestoreOptions{
		SessionID: m.session, ItemID: s.Session.ForkAt, Takeover: s.Session.Takeover,
		Opened: session.Opened{CWD: s.Cwd, Title: s.Session.Title, User: x.opt.Actor.Name},
	}
	if m.session != x.id {
		o.Session.Opened.Owner, o.Session.Opened.Title, o.AgentName, o.Permissions.Run = x.id, "", m.spec.Name, x.shared
	}
	o.Permissions.Ask = m.askCallback()
	if o.Limits.MaxTurns == 0 {
		o.Limits.MaxTurns = m.spec.MaxSteps
	}
	if o.Limits.MaxBudgetUSD == 0 {
		o.Limits.MaxBudgetUSD = s.Limits.MaxBudgetUSD
	}
	if m.agent, err = made.agent(ctx, o); err != nil {
		made.close()
	}
	return err
}

// agentAdapter adapts [agent.Agent] to Agent: its Run is [agent.Agent.Work].
type agentAdapter struct{ *agent.Agent }

func (w agentAdapter) Run(ctx context.Context, input ...transcript.Part) iter.Seq2[event.Event, error] {
	return w.Work(ctx, input...)
}

func (m *AgentParts) agent(ctx context.Context, o agent.Options) (Agent, error) {
	if m.New != nil {
		return m.New(ctx, o)
	}
	a, err := agent.New(m.Model, &o)
	if err != nil {
		return nil, err
	}
	if m.Attach != nil {
		m.Attach(a)
	}
	return agentAdapter{a}, nil
}

// open opens the agent's session. It records the notices of the opening in the run's log, because
// the run may have no subscriber yet.
func (m *runAgent) open(ctx context.Context) error {
	found, err := m.agent.Start(ctx)
	if err != nil || m.opened {
		return err
	}
	if len(found.Notices) > 0 {
		e := wire.RunEvent{Event: wire.RunOpened, Segment: m.x.segment, Agent: m.spec.Name, Session: m.session, Notices: found.Notices}
		_, err = m.x.append(ctx, e, api.StatusRunning)
	}
	m.opened = err == nil
	return err
}

// turn runs the agent until it has answered the input and all texts that wait for it. The input is
// "" if there is no new input.
func (m *runAgent) turn(ctx context.Context, input string, images []transcript.Media) (strategy.Output, error) {
	var out strategy.Output
	texts, err := m.x.takeSteering(ctx, false)
	for err == nil {
		var res *event.Result
		if res, err = m.run(ctx, input, images, texts); err != nil {
			break
		}
		out.Text, out.Finish = res.Text, string(res.Reason)
		out.Usage, out.Cost = out.Usage.Add(res.Usage), out.Cost+res.CostUSD
		if err = m.turnError(ctx, res); err != nil {
			break
		}
		queued := len(m.agent.Snapshot().Pending) > 0 // the agent was steered after its last answer
		if texts, err = m.x.takeSteering(ctx, m.x.strategy.Flow.SingleStep() && !queued); err == nil && len(texts) == 0 && !queued {
			break
		}
		input, images = "", nil
	}
	return out, err
}

// run runs the agent once and publishes its events. Texts that it did not take wait again.
func (m *runAgent) run(ctx context.Context, input string, images []transcript.Media, texts []steering) (*event.Result, error) {
	m.calls = 0
	defer m.setBetween(false)
	defer func() { m.x.putBack(texts) }()
	parts := inputimage.Input(withSteering(input, texts), append(slices.Clip(images), steeringImages(texts)...))
	for e, err := range m.agent.Run(ctx, parts...) {
		if errors.Is(err, approval.ErrSuspend) {
			return nil, errSuspended
		}
		if err != nil {
			return nil, err
		}
		if _, ok := e.(event.ItemAppended); ok { // the input is recorded before other items
			m.x.recordSteering(ctx, wire.RunEvent{Event: wire.RunSteeringDelivered}, texts)
			texts = nil
		}
		m.onEvent(ctx, e)
		if res, ok := e.(event.Result); ok {
			m.result = &res
			if res.Reason == event.ReasonHook && res.Err != nil { // a hook refused the input
				m.x.recordSteering(ctx, wire.RunEvent{Event: wire.RunSteeringWithdrawn, Message: res.Err.Error()}, texts)
				texts = nil
			}
			return &res, nil
		}
	}
	return nil, errors.New("the agent ended without a result")
}

// isSole reports whether the agent is the run's only one and works in the run's own session.
func (m *runAgent) isSole() bool { return m.session == m.x.id }

// deferredError reports that a hook deferred a call.
type deferredError struct{}

func (deferredError) Error() string {
	return "a hook deferred a call; continue the run to retry it"
}

func (deferredError) Unwrap() error { return errSuspended }

// turnError returns why a turn did not complete the step, or nil if it did.
func (m *runAgent) turnError(ctx context.Context, res *event.Result) error {
	switch res.Reason {
	case event.ReasonCompleted:
		return nil
	case event.ReasonInterrupted:
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if len(res.Denials) > 0 && res.Denials[len(res.Denials)-1].Stop {
			return nil // the user denied a call and stopped the turn, so the step ends with the output so far
		}
		return errors.New("the turn was interrupted")
	case event.ReasonDeferred:
		return &deferredError{}
	case event.ReasonBudget:
		return fmt.Errorf("agent %s reached a limit: %s: the run has cost %.4g of %.4g US dollars", m.spec.Name, res.Reason, res.RunCostUSD, res.BudgetUSD)
	case event.ReasonMaxTurns:
		return fmt.Errorf("agent %s reached a limit: %s", m.spec.Name, res.Reason)
	case event.ReasonRefused, event.ReasonFailed, event.ReasonHook:
	}
	if res.Err != nil {
		return res.Err
	}
	return fmt.Errorf("the turn of agent %s ended: %s", m.spec.Name, res.Reason)
}

// onEvent publishes an event of the agent.
func (m *runAgent) onEvent(ctx context.Context, e event.Event) {
	switch e := e.(type) {
	case event.ApprovalResolved:
		m.x.approvalClosed(e.ID)
	case event.SubagentEvent:
		m.onSubagentEvent(e)
		return
	case event.ItemAppended:
		switch e.Item.Role() {
		case transcript.RoleAssistant:
			m.calls, m.output = len(e.Item.UseIDs()), nil
		case transcript.RoleTool:
			if m.calls--; m.calls <= 0 { // before the next model call, which includes the texts
				m.handOver(ctx, false)
			}
		}
	case event.ToolFinished:
		m.publishAll([]event.Event{event.ToolFinished{Use: e.Use}}) // ends the output so far
	case event.TurnStarted:
		m.setBetween(false)
	case event.TurnFinished:
		if e.Reason == event.ReasonCompleted { // the agent may wait for its background tasks now
			m.handOver(ctx, true)
		}
	case event.PolicyChanged:
		m.policyChanged(ctx, e)
	case event.SessionOpened:
		m.notifyRelay()
		if !m.isSole() { // if the run has only one agent, the record that starts the run contains it
			e.Notices = nil // they are already recorded
			m.publish(e)
		}
		return
	case event.Result:
		if !m.isSole() { // if the run has only one agent, the record that ends the run contains it
			m.publish(e)
		}
		return
	case event.ToolOutputDelta:
		m.publishOutput(e)
		return
	case event.TextDelta, event.ThinkingDelta, event.ToolInputDelta, event.ModelRetrying, event.ModelSwitched,
		event.ModelStarted, event.ModelFinished, event.UsageUpdated, event.Notice, event.Notification, event.TerminalSequences,
		event.CompactionStarted, event.TranscriptRewritten:
		m.publish(e)
		return
	}
	m.notifyRelay()
}

// notifyRelay tells the relay that the agent's session has new records.
func (m *runAgent) notifyRelay() {
	if m.x.relay != nil {
		m.x.relay.notify(m.session, m.agent.Snapshot().Seq)
	}
}

// onSubagentEvent handles an event of a sub-agent. It notifies the relay that the sub-agent has new
// records, and removes the approval requests that were resolved. Output of the sub-agent's calls is
// published.
func (m *runAgent) onSubagentEvent(e event.SubagentEvent) {
	for of, ok := e, true; ok; of, ok = of.Event.(event.SubagentEvent) {
		switch inner := of.Event.(type) {
		case event.ToolOutputDelta:
			for _, d := range m.output.write(m.masker.mask, event.ToolOutputDelta{Use: of.Session + " " + inner.Use, Text: inner.Text}) {
				_, inner.Text = deltas.Split(d)
				of.Event = inner
				m.publishAll([]event.Event{of})
			}
			return
		case event.ToolFinished:
			of.Event = event.ToolFinished{Use: inner.Use}
			m.publishAll([]event.Event{of}) // ends the output so far
		case event.ApprovalResolved:
			m.x.approvalClosed(inner.ID)
		}
		m.x.notifySubagent(of.Session, of.Name)
	}
}

// publishOutput publishes output of a running call. Each call has its own masker, because the
// pieces of parallel calls alternate.
func (m *runAgent) publishOutput(e event.ToolOutputDelta) {
	m.publishAll(m.output.write(m.masker.mask, e))
}

func (m *runAgent) publish(e event.Event) { m.publishAll(m.masker.write(e)) }

func (m *runAgent) publishAll(list []event.Event) {
	for _, e := range list {
		if m.x.relay != nil {
			m.x.relay.publish(m, e)
		} else {
			m.x.r.o.Hub.Publish(m.x.id, m.spec.Name, e)
		}
	}
}

// continueStep completes a step that began before a restart.
func (m *runAgent) continueStep(ctx context.Context, s strategy.Step, before *stepRecord) (strategy.Output, error) {
	after := before.seq
	if m.session != m.x.id {
		after = before.began.From
	}
	p, err := m.progress(ctx, after)
	switch {
	case err != nil:
		return strategy.Output{}, err
	case !p.admitted:
		return m.turn(ctx, s.Input, m.x.images)
	case p.done() && len(m.agent.Snapshot().Pending) == 0:
		texts, err := m.x.takeSteering(ctx, m.x.strategy.Flow.SingleStep())
		if len(texts) == 0 || err != nil {
			return strategy.Output{Text: p.text, Finish: string(event.ReasonCompleted), Cost: p.cost}, err
		}
		m.x.putBack(texts)
	}
	out, err := m.turn(ctx, "", nil)
	if errors.Is(err, agent.ErrNoInput) { // the model's answer was cut off
		return m.turn(ctx, "Go on where you were interrupted.", nil)
	}
	return out, err
}

// progress says how much of a step an agent has done.
type progress struct {
	admitted bool   // the agent's transcript contains the input
	answered bool   // the last item is a complete answer
	closed   string // how the agent's last turn ended; "" if it has not ended
	text     string // of its last answer
	cost     float64
}

// done reports whether the step needs no more work. It also returns true if only the end of the
// turn was not recorded. When the session is opened again, the turn is closed as interrupted.
func (p *progress) done() bool {
	switch p.closed {
	case string(event.ReasonCompleted):
		return true
	case "", string(event.ReasonInterrupted):
		return p.answered
	}
	return false
}

func (m *runAgent) progress(ctx context.Context, after int64) (p progress, err error) {
	for rec, err := range m.x.r.o.Sessions.Effective(ctx, m.session, session.Range{After: after}) {
		if err != nil {
			return p, err
		}
		switch {
		case rec.Payload == nil:
		case rec.Kind == session.KindItem:
			it, err := record.ReadItem(rec.Payload)
			if err != nil {
				return p, err
			}
			p.admitted = p.admitted || !it.Queued // steering can precede the input
			p.answered = it.Item.Role() == transcript.RoleAssistant && it.Item.Finish() == transcript.FinishStop && len(it.Item.UseIDs()) == 0
			if it.Item.Role() == transcript.RoleAssistant {
				p.text = it.Item.Text()
			}
		case rec.Kind == record.KindTurnOpened:
			p.closed = ""
		case rec.Kind == record.KindTurnClosed:
			var c record.TurnClosed
			if err := json.Unmarshal(rec.Payload, &c); err != nil {
				return p, err
			}
			p.closed, p.cost = c.Reason, p.cost+c.Cost
		}
	}
	return p, nil
}
