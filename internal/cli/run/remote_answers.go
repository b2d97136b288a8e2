package run

import (
	"context"
	"fmt"
	"sync"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// localAnswers records which answers the user gave at this terminal, so that they are not printed
// again.
type localAnswers struct {
	ask func(context.Context, approval.Request) (approval.Answer, error)
	as  string // the daemon's name for the user

	mu       sync.Mutex
	decision map[string]approval.Decision // by approval
}

func (h *localAnswers) answer(ctx context.Context, q approval.Request) (approval.Answer, error) {
	ans, err := h.ask(ctx, q)
	if err == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.decision == nil {
			h.decision = map[string]approval.Decision{}
		}
		h.decision[q.ID] = ans.Decision
	}
	return ans, err
}

// mark returns an event. If the event has an answer that was given at this terminal, also one for a
// sub-agent, mark marks the answer with [question.ViaTerminal].
func (h *localAnswers) mark(e event.Event) event.Event {
	switch e := e.(type) {
	case event.SubagentEvent:
		if e.Event != nil {
			e.Event = h.mark(e.Event)
		}
		return e
	case event.ApprovalResolved:
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.decision[e.ID] == e.Answer.Decision && e.Answer.Actor == h.as {
			e.Answer.Via = question.ViaTerminal
		}
		return e
	}
	return e
}

// remoteAsker returns the function that answers the approval requests of a run in the daemon, or
// nil. It also returns what the daemon does with requests that this function does not answer.
func remoteAsker(asker *question.Asker, onAsk settings.UnattendedPolicy) (func(context.Context, approval.Request) (approval.Answer, error), settings.UnattendedPolicy) {
	switch {
	case asker != nil:
		return func(ctx context.Context, q approval.Request) (approval.Answer, error) {
			ans, err := asker.Ask(ctx, q)
			if err == nil && ans.Actor == question.TerminalClosed { // a closed terminal is no answer: other clients can still answer
				err = errSuspended(q)
			}
			return ans, err
		}, settings.UnattendedWait
	case onAsk == settings.UnattendedSuspend:
		return func(_ context.Context, q approval.Request) (approval.Answer, error) {
			return approval.Answer{}, errSuspended(q)
		}, settings.UnattendedWait
	case onAsk == settings.UnattendedWait:
		return nil, onAsk
	}
	return nil, settings.UnattendedDeny
}

// errSuspended returns the error with which this process stops following the run. The approval
// request stays pending in the daemon.
func errSuspended(q approval.Request) error {
	return &outcome.Failure{
		Message: approval.ErrSuspend.Error(), Cause: approval.ErrSuspend, Result: outcome.Approval,
		Advice: fmt.Sprintf("holdfast approvals show %s; the run continues in the daemon after the answer", q.ID),
	}
}
