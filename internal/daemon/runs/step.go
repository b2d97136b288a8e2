package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
)

// step implements [strategy.StepFunc]: it performs a step unless the log already has its result.
//
//	recorded as completed ─► its output
//	begun before a restart ─► the agent's session says how far it came
//	new                    ─► step_started, the agent, step_completed
func (x *run) step(ctx context.Context, s strategy.Step) (out strategy.Output, err error) {
	defer x.r.recoverPanic(x.id, &err)
	before := x.resumed.step(s.Path)
	if before != nil && before.ended != nil {
		return outputOf(before.ended), nil
	}
	if err := context.Cause(ctx); err != nil {
		return strategy.Output{}, err
	}
	e := wire.RunEvent{Step: s.Path, StepName: s.Name, Agent: s.Agent, Segment: x.segment}
	out, err = x.perform(ctx, s, before, e)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errSuspended) && !retry.IsUnavailable(err) {
			e.Event, e.Message = wire.RunStepFailed, err.Error()
			if _, rerr := x.append(ctx, e, api.StatusRunning); rerr != nil {
				return out, errors.Join(err, rerr)
			}
		}
		return out, err
	}
	e.Event, e.Text, e.Finish, e.Usage, e.Cost = wire.RunStepCompleted, out.Text, out.Finish, &out.Usage, out.Cost
	if l := x.currentRelay(); l != nil {
		if err := l.waitComplete(ctx); err != nil { // the records of the agent come before the end of the agent's step
			return out, err
		}
	}
	_, err = x.append(ctx, e, api.StatusRunning)
	return out, err
}

func outputOf(e *wire.RunEvent) strategy.Output {
	out := strategy.Output{Text: e.Text, Finish: e.Finish, Cost: e.Cost}
	if e.Usage != nil {
		out.Usage = *e.Usage
	}
	return out
}

// perform records that a step begins, and runs the step.
func (x *run) perform(ctx context.Context, s strategy.Step, before *stepRecord, e wire.RunEvent) (out strategy.Output, err error) {
	defer x.r.recoverPanic(x.id, &err)
	spec, ok := x.agentSpec(s.Agent)
	if !ok {
		return strategy.Output{}, fmt.Errorf("unknown agent %q", s.Agent)
	}
	e.Event, e.Input = wire.RunStepStarted, s.Input
	if spec.Type == strategy.User {
		if before == nil {
			if _, err := x.append(ctx, e, api.StatusRunning); err != nil {
				return strategy.Output{}, err
			}
		}
		return x.askUser(ctx, s, spec)
	}
	m, err := x.ensureAgent(ctx, s.Agent)
	if err != nil {
		return strategy.Output{}, err
	}
	m.turns.Lock() // an agent runs only one step at a time
	defer m.turns.Unlock()
	if err := m.open(ctx); err != nil {
		return strategy.Output{}, err
	}
	if before != nil {
		return m.continueStep(ctx, s, before)
	}
	e.Session = m.session
	if m.session != x.id {
		e.From = m.agent.Snapshot().Seq
	}
	if _, err := x.append(ctx, e, api.StatusRunning); err != nil {
		return strategy.Output{}, err
	}
	return m.turn(ctx, s.Input, x.images) // a run with images has only this step
}

func (x *run) agentSpec(name string) (strategy.Agent, bool) {
	for _, a := range x.strategy.Agents {
		if a.Name == name {
			return a, true
		}
	}
	return strategy.Agent{}, false
}
