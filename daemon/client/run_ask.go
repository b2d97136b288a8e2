package client

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
)

// questionQueue puts the questions of a run to whoever answers for this program, one at a time. The first
// answer counts, from wherever it comes.
type questionQueue struct {
	run     *Run
	asked   map[string]*question // by id
	waiting []*question          // the first one is being asked
	answers chan localAnswer
}

// question is one that the run has asked.
type question struct {
	approval.Request
	resolved bool
	answered bool               // here
	cancel   context.CancelFunc // takes it back
	done     chan struct{}      // closed when nobody is asked any more
}

// localAnswer is what was answered here to a question.
type localAnswer struct {
	q   *question
	ans approval.Answer
	err error
}

func newAsking(r *Run) *questionQueue {
	return &questionQueue{run: r, asked: map[string]*question{}, answers: make(chan localAnswer)}
}

// of puts the question of an event, also of a sub-agent's, and returns what is to be told of the
// event, or nil. Questions on record from before are not put: some have their answers.
func (a *questionQueue) of(ctx context.Context, e event.Event, live bool) (event.Event, error) {
	switch e := e.(type) {
	case event.SubagentEvent:
		of, err := a.of(ctx, e.Event, live)
		if of == nil || err != nil {
			return nil, err
		}
		e.Event = of
		return e, nil
	case event.ApprovalAsked:
		if live && a.run.ask != nil && !a.add(ctx, e.Request) {
			return nil, nil //nolint:nilnil // it was told before
		}
	case event.ApprovalResolved:
		if a.isTold(ctx, e.ID) {
			return nil, nil //nolint:nilnil // with the answer that came too late
		}
	}
	return e, nil
}

// add has a question asked; false when it was before.
func (a *questionQueue) add(ctx context.Context, asked approval.Request) bool {
	if a.asked[asked.ID] != nil {
		return false
	}
	q := &question{Request: asked}
	a.asked[asked.ID] = q
	a.waiting = append(a.waiting, q)
	a.next(ctx)
	return true
}

// next asks the next question, when none is being asked.
func (a *questionQueue) next(ctx context.Context) {
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

// drop takes a question back, and asks the next one.
func (a *questionQueue) drop(ctx context.Context, q *question) {
	q.end()
	if i := slices.Index(a.waiting, q); i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
	}
	a.next(ctx)
}

func (q *question) end() {
	if q.cancel != nil {
		q.cancel()
		<-q.done
	}
}

// close takes all questions back.
func (a *questionQueue) close() {
	for _, q := range a.waiting {
		q.end()
	}
	a.waiting = nil
}

// answered sends an answer, and returns what is to be told of it: when somebody was faster, theirs
// counts.
func (a *questionQueue) answered(ctx context.Context, g localAnswer) (list []event.Event, err error) {
	q := g.q
	defer a.drop(ctx, q)
	if g.err != nil {
		if errors.Is(g.err, approval.ErrSuspend) {
			return nil, g.err
		}
		g.ans = approval.Answer{Decision: approval.Deny, Message: g.err.Error()}
	}
	q.answered = true
	counts, err := a.run.c.answer(ctx, q.ID, q.Digest, g.ans)
	switch {
	case errors.Is(err, approval.ErrAnswered):
		q.resolved = true
		return []event.Event{event.ApprovalResolved{ID: q.ID, Answer: counts, LateAnswer: &g.ans}}, nil
	case isStatus(err, http.StatusNotFound, http.StatusConflict, http.StatusGone):
		return nil, nil // its time was up, or its run has ended: its record will say so
	}
	return nil, err
}

// isTold takes a question back that has its answer, and reports whether that was told.
func (a *questionQueue) isTold(ctx context.Context, id string) bool {
	q := a.asked[id]
	if q == nil {
		return false
	}
	told := q.resolved
	q.resolved = true
	if !q.answered {
		a.drop(ctx, q)
	}
	return told
}
