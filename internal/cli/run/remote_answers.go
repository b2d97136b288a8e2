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

// localAnswers knows which answers the person at this terminal gave, so that they are not told to
// the person again.
type localAnswers struct {
	ask func(context.Context, approval.Request) (approval.Answer, error)
	as  string // the daemon's name for the person

	mu       sync.Mutex
	decision map[string]approval.Decision // by question
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

// add marks an answer of this terminal, also to a sub-agent, as one.
func (h *localAnswers) add(e event.Event) event.Event {
	switch e := e.(type) {
	case event.SubagentEvent:
		if e.Event != nil {
			e.Event = h.add(e.Event)
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

// remoteAsker is who answers the questions of a run in the daemon, and what it does with those that
// nobody is there to answer.
func remoteAsker(person *question.Asker, onAsk settings.UnattendedPolicy) (func(context.Context, approval.Request) (approval.Answer, error), settings.UnattendedPolicy) {
	switch {
	case person != nil:
		return func(ctx context.Context, q approval.Request) (approval.Answer, error) {
			ans, err := person.Ask(ctx, q)
			if err == nil && ans.Actor == question.TerminalClosed { // the terminal is gone, which is no answer: others can give one
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

// errSuspended is the end of a run here whose question stays open there.
func errSuspended(q approval.Request) error {
	return &outcome.Failure{
		Message: approval.ErrSuspend.Error(), Cause: approval.ErrSuspend, Result: outcome.Approval,
		Advice: fmt.Sprintf("holdfast approvals show %s; the daemon goes on when it is answered", q.ID),
	}
}
