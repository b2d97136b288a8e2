package runs

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// subagentHost is an [Agent] whose sub-agents can be steered and stopped.
type subagentHost interface {
	Subagent(session string) *agent.Agent
	StopSubagent(ctx context.Context, session string) (working bool, err error)
}

// SteerSubagent gives a text to the sub-agent or teammate of a running run that works in a session,
// and to no other agent. The sub-agent has the text, and it is recorded, when SteerSubagent returns.
// The error is RUN_NOT_STEERABLE if the run is not running, and CONFLICT if no sub-agent works there,
// if it waits for an approval, or if a hook refuses the text.
func (r *Runs) SteerSubagent(ctx context.Context, id, subagent, text, requestID string, by Actor, images ...transcript.Media) error {
	if err := inputimage.CheckAll(images); err != nil {
		return &Error{Code: wire.CodeValidation, Message: err.Error(), Tip: outcome.Hint(err)}
	}
	x, host, err := r.hostOf(id, subagent)
	if err != nil {
		return err
	}
	a := host.Subagent(subagent)
	if a == nil {
		return noSubagent(id, subagent)
	}
	text, _ = x.mask.Text(text)
	err = a.Submit(context.WithoutCancel(ctx), inputimage.Input(steeringText([]steering{{text: text}}), images)...)
	blocked, isBlocked := errors.AsType[*event.Error](err)
	switch {
	case errors.Is(err, agent.ErrApprovalPending):
		return &Error{Code: wire.CodeConflict, Message: "the sub-agent waits for an approval", Tip: "answer it first", Err: err}
	case errors.Is(err, agent.ErrClosed), errors.Is(err, session.ErrUnsupported):
		return noSubagent(id, subagent)
	case isBlocked:
		return &Error{Code: wire.CodeConflict, Message: blocked.Error(), Err: err}
	case err != nil:
		return err
	}
	return x.recordSubagent(ctx, subagent, wire.RunEvent{Event: wire.RunSubagentSteered, Text: text, Images: images, By: by.Name, Via: by.Via, RequestID: requestID})
}

// StopSubagent stops the sub-agent of a running run that works in a session, or the turn of the
// teammate. The run continues, and the model of the parent reads that the user stopped it. The errors
// are those of [Runs.SteerSubagent].
func (r *Runs) StopSubagent(ctx context.Context, id, subagent, requestID string, by Actor) error {
	x, host, err := r.hostOf(id, subagent)
	if err != nil {
		return err
	}
	err = x.recordSubagent(ctx, subagent, wire.RunEvent{Event: wire.RunSubagentStopped, By: by.Name, Via: by.Via, RequestID: requestID})
	if err != nil {
		return err
	}
	working, err := host.StopSubagent(context.WithoutCancel(ctx), subagent)
	if err == nil && !working { // it has just ended
		err = noSubagent(id, subagent)
	}
	return err
}

// hostOf returns a running run and the agent whose sub-agent works in a session.
func (r *Runs) hostOf(id, subagent string) (*run, subagentHost, error) {
	x := r.lookup(id)
	if x == nil || !x.running() {
		return nil, nil, wireError(wire.RunNotSteerable(id))
	}
	for _, m := range x.existingAgents() {
		if host, ok := m.agent.(subagentHost); ok && host.Subagent(subagent) != nil {
			return x, host, nil
		}
	}
	return nil, nil, noSubagent(id, subagent)
}

func noSubagent(id, subagent string) error {
	return &Error{
		Code: wire.CodeConflict, Message: "no sub-agent of run " + id + " works in session " + subagent,
		Tip: "it may have ended; the run itself can be steered and stopped",
	}
}

// recordSubagent records what a user did to a sub-agent.
func (x *run) recordSubagent(ctx context.Context, subagent string, e wire.RunEvent) error {
	e.Segment, e.Session = x.segment, subagent
	if l := x.currentRelay(); l != nil {
		l.mu.Lock()
		e.Agent = l.names[subagent]
		l.mu.Unlock()
	}
	_, err := x.append(ctx, e, api.StatusRunning)
	return err
}
