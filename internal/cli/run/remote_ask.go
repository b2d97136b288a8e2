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

// answeredHere knows which answers the person at this terminal gave, so that they are not told to
// the person again.
type answeredHere struct {
	ask func(context.Context, approval.Question) (approval.Answer, error)
	as  string // the daemon's name for the person

	mu       sync.Mutex
	decision map[string]approval.Decision // by question
}

func (h *answeredHere) answer(ctx context.Context, q approval.Question) (approval.Answer, error) {
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

// mark marks an answer of this terminal, also to a sub-agent, as one.
func (h *answeredHere) mark(e event.Event) event.Event {
	switch e := e.(type) {
	case event.SubagentEvent:
		if e.Event != nil {
			e.Event = h.mark(e.Event)
		}
		return e
	case event.ApprovalResolved:
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.decision[e.ID] == e.Answer.Decision && e.Answer.By == h.as {
			e.Answer.Via = question.ViaTerminal
		}
		return e
	}
	return e
}

// askThere is who answers the questions of a run in the daemon, and what it does with those that
// nobody is there to answer.
func askThere(person *question.Asker, onAsk settings.OnAsk) (func(context.Context, approval.Question) (approval.Answer, error), settings.OnAsk) {
	switch {
	case person != nil:
		return func(ctx context.Context, q approval.Question) (approval.Answer, error) {
			ans, err := person.Ask(ctx, q)
			if err == nil && ans.By == question.Nobody { // the terminal is gone, which is no answer: others can give one
				err = errLeft(q)
			}
			return ans, err
		}, settings.OnAskWait
	case onAsk == settings.OnAskFail:
		return func(_ context.Context, q approval.Question) (approval.Answer, error) {
			return approval.Answer{}, errLeft(q)
		}, settings.OnAskWait
	case onAsk == settings.OnAskWait:
		return nil, onAsk
	}
	return nil, settings.OnAskDeny
}

// errLeft is the end of a run here whose question stays open there.
func errLeft(q approval.Question) error {
	return &outcome.Failure{
		Message: approval.ErrLeave.Error(), Cause: approval.ErrLeave, Result: outcome.Approval,
		Advice: fmt.Sprintf("holdfast approvals show %s; the daemon goes on when it is answered", q.ID),
	}
}
