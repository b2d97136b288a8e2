package client

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
)

// approvalQueue passes the approvals of a run one at a time to the ask function of this program.
// The first answer from any client is final.
type approvalQueue struct {
	run     *Run
	asked   map[string]*pendingApproval // by id
	waiting []*pendingApproval          // the ask function has the first request
	answers chan localAnswer
}

// pendingApproval is an approval request of the run.
type pendingApproval struct {
	approval.Request
	resolved bool
	answered bool               // by this program
	cancel   context.CancelFunc // cancels the context of the ask function
	done     chan struct{}      // closed when the ask function has returned
}

// localAnswer is this program's answer to an approval.
type localAnswer struct {
	q   *pendingApproval
	ans approval.Answer
	err error
}

func newApprovalQueue(r *Run) *approvalQueue {
	return &approvalQueue{run: r, asked: map[string]*pendingApproval{}, answers: make(chan localAnswer)}
}

// queueAsked queues the approval request of an event, including one of a sub-agent, and returns the
// event to yield, or nil. Requests in older records are not queued, because some of them are
// already answered.
func (a *approvalQueue) queueAsked(ctx context.Context, e event.Event, live bool) (event.Event, error) {
	switch e := e.(type) {
	case event.SubagentEvent:
		of, err := a.queueAsked(ctx, e.Event, live)
		if of == nil || err != nil {
			return nil, err
		}
		e.Event = of
		return e, nil
	case event.ApprovalAsked:
		if live && a.run.ask != nil && !a.add(ctx, e.Request) {
			return nil, nil //nolint:nilnil // already yielded
		}
	case event.ApprovalResolved:
		if a.withdraw(ctx, e.ID) {
			return nil, nil //nolint:nilnil // the event is yielded with the late answer
		}
	}
	return e, nil
}

// add queues an approval request; it returns false if the request was queued before.
func (a *approvalQueue) add(ctx context.Context, asked approval.Request) bool {
	if a.asked[asked.ID] != nil {
		return false
	}
	q := &pendingApproval{Request: asked}
	a.asked[asked.ID] = q
	a.waiting = append(a.waiting, q)
	a.next(ctx)
	return true
}

// next passes the next request to the ask function, unless that is busy.
func (a *approvalQueue) next(ctx context.Context) {
	if len(a.waiting) == 0 || a.waiting[0].done != nil {
		return
	}
	q := a.waiting[0]
	ctx, q.cancel = context.WithCancel(ctx)
	q.done = make(chan struct{})
	go func() {
		defer close(q.done)
		ans, err := a.run.ask(ctx, q.Request)
		select {
		case a.answers <- localAnswer{q, ans, err}:
		case <-ctx.Done():
		}
	}()
}

// drop withdraws a request, and continues with the next one.
func (a *approvalQueue) drop(ctx context.Context, q *pendingApproval) {
	q.end()
	if i := slices.Index(a.waiting, q); i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
	a.next(ctx)
}

func (q *pendingApproval) end() {
	if q.cancel != nil {
		q.cancel()
		<-q.done
	}
}

// close withdraws all requests.
func (a *approvalQueue) close() {
	for _, q := range a.waiting {
		q.end()
	}
	a.waiting = nil
}

// answered sends an answer, and returns the event to yield. If another answer came first, the event
// reports that answer.
func (a *approvalQueue) answered(ctx context.Context, g localAnswer) (list []event.Event, err error) {
	q := g.q
	defer a.drop(ctx, q)
	if g.err != nil {
		if errors.Is(g.err, approval.ErrSuspend) {
			return nil, g.err
		}
		g.ans = approval.Answer{Decision: approval.Deny, Message: g.err.Error()}
	}
	q.answered = true
	stored, err := a.run.c.answer(ctx, q.ID, q.Digest, g.ans)
	switch {
	case errors.Is(err, approval.ErrAnswered):
		q.resolved = true
		return []event.Event{event.ApprovalResolved{ID: q.ID, Answer: stored, LateAnswer: &g.ans}}, nil
	case isStatus(err, http.StatusNotFound, http.StatusConflict, http.StatusGone):
		return nil, nil // the request has expired or its run has ended, and a record will report that
	}
	return nil, err
}

// withdraw removes an answered request from the queue. It reports whether the answer was already
// yielded.
func (a *approvalQueue) withdraw(ctx context.Context, id string) bool {
	q := a.asked[id]
	if q == nil {
		return false
	}
	resolved := q.resolved
	q.resolved = true
	if !q.answered {
		a.drop(ctx, q)
	}
	return resolved
}
