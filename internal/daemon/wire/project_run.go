package wire

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
)

// ofRunEvent returns the messages of a run.event record.
func ofRunEvent(r Source, e *RunEvent) []RunMessage {
	m := ofRun(r, e)
	for _, one := range m {
		one.Common().RequestID = e.RequestID
	}
	return m
}

func ofRun(r Source, e *RunEvent) []RunMessage {
	agent := cmp.Or(e.Agent, r.Agent)
	switch e.Event {
	case RunStarted:
		return []RunMessage{started(e)}
	case RunStepStarted:
		m := &StepStarted{StepName: e.StepName, AgentName: agent, Step: e.Step, Segment: e.Segment}
		m.Message, m.Cut = cut(e.Input, MaxText)
		return []RunMessage{m}
	case RunStepCompleted:
		m := &StepCompleted{StepName: e.StepName, AgentName: agent, Step: e.Step, Segment: e.Segment, CostUSD: e.Cost}
		m.Result = StepResult{Usage: usageOf(e.Usage), FinishReason: e.Finish}
		m.Result.Text, m.Cut = cut(e.Text, MaxText)
		return []RunMessage{m}
	case RunStepFailed:
		return []RunMessage{&StepFailed{StepName: e.StepName, AgentName: agent, Step: e.Step, Segment: e.Segment, Error: problem(e, CodeExecution)}}
	case RunOpened:
		var list []RunMessage
		for _, n := range e.Notices {
			text, _ := cut(n, MaxText)
			list = append(list, &AgentStreaming{AgentName: agent, Event: &StreamNotice{Text: text}})
		}
		return list
	case RunInputAsked:
		m := &RequestInput{AgentName: agent, InputRequestID: e.InputID, Step: e.Step}
		m.Prompt, m.Cut = cut(e.Text, MaxText)
		return []RunMessage{m}
	case RunInputGiven:
		m := &InputReceived{AgentName: agent, InputRequestID: e.InputID, By: e.By, Via: e.Via}
		m.Text, m.Cut = cut(e.Text, MaxText)
		return []RunMessage{m}
	case RunSteered:
		m := &SteerQueued{By: e.By, Via: e.Via, SteeringID: strings.Join(e.Steering, "")}
		m.Text, m.Cut = cut(e.Text, MaxText)
		return []RunMessage{m}
	case RunSteeringWithdrawn:
		m := &SteerWithdrawn{SteeringIDs: e.Steering, By: e.By, Via: e.Via}
		m.Message, m.Cut = cut(e.Message, MaxText)
		return []RunMessage{m}
	case RunSubagentSteered:
		m := &SubagentSteered{AgentName: e.Agent, AgentSession: e.Session, By: e.By, Via: e.Via}
		m.Text, m.Cut = cut(e.Text, MaxText)
		return []RunMessage{m}
	case RunSubagentStopped:
		return []RunMessage{&SubagentStopped{AgentName: e.Agent, AgentSession: e.Session, By: e.By, Via: e.Via}}
	case RunPolicy:
		return updated(e)
	case RunCompleted:
		m := &StrategyCompleted{Usage: usageOf(e.Usage), Segment: e.Segment, CostUSD: e.Cost}
		m.Result, m.Cut = cut(e.Text, MaxText)
		return []RunMessage{m}
	case RunFailed:
		return ended(e, CodeExecution)
	case RunCancelled:
		return ended(e, CodeCancelled)
	case RunInterrupted:
		return ended(e, CodeInterrupted)
	}
	return nil // relayed: the feed has put the records in its place
}

func started(e *RunEvent) *StrategyStarted {
	s := cmp.Or(e.Strategy, &StrategyInfo{})
	m := &StrategyStarted{
		StrategyName: s.Name, StrategyPath: s.Path, Agents: s.Agents, FlowTree: s.Flow, Cwd: s.Cwd, Model: s.Model, Mode: s.Mode,
		Segment: e.Segment, Resumed: e.Resumed, By: e.By, Via: e.Via,
	}
	if !json.Valid(m.FlowTree) {
		m.FlowTree = nil
	}
	m.Input, m.Cut = cut(e.Input, MaxText)
	return m
}

func ended(e *RunEvent, code Code) []RunMessage {
	return []RunMessage{&StrategyError{Error: problem(e, code), Segment: e.Segment, By: e.By, Via: e.Via}}
}

// problem returns the problem that a run.event reports; code is used if the event has none.
func problem(e *RunEvent, code Code) Problem {
	p := Problem{Code: cmp.Or(e.Code, code)}
	p.Message, _ = cut(e.Message, MaxText)
	return p
}

// updated returns one message for each chain. If no guard exists yet, it returns one message
// without a chain.
func updated(e *RunEvent) []RunMessage {
	chains := e.Chains
	if len(chains) == 0 && len(e.Changes) > 0 {
		return nil // the changes are only for agents that have not worked yet
	}
	if len(chains) == 0 {
		chains = []policy.Chain{{}}
	}
	list := make([]RunMessage, len(chains))
	for i := range chains {
		list[i] = ChainUpdated(&chains[i], e.By, e.Via)
	}
	return list
}

// ChainUpdated returns the message that reports a changed chain.
func ChainUpdated(c *policy.Chain, by, via string) *PolicyUpdated {
	return &PolicyUpdated{Tool: c.Tool, Policies: links(c), Version: c.Version, Mode: c.Mode, By: by, Via: via}
}

func links(c *policy.Chain) []PolicyRef {
	refs := make([]PolicyRef, len(c.Links))
	for i, l := range c.Links {
		refs[i] = PolicyRef{Name: l.Name, Stage: l.Stage, Detail: l.Detail, Rule: l.Rule}
	}
	return refs
}
