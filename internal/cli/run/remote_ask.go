package run

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// openQuestion is one that the run has asked.
type openQuestion struct {
	approval.Question
	resolved bool
	unasked  bool               // nobody was there: the answer was no
	mine     *approval.Answer   // what the person here said
	cancel   context.CancelFunc // takes it off the screen
	done     chan struct{}      // closed when nobody is asked any more
}

// personSaid is what the person said to a question.
type personSaid struct {
	q   *openQuestion
	ans approval.Answer
	err error
}

// nobodyThere is what the model is told behind why it was asked.
const nobodyThere = ", and nobody is there to ask"

// ask puts a question to whoever is here. quiet: there is nothing to show of it.
func (r *remoteRun) ask(ctx context.Context, asked approval.Question) (quiet bool, err error) {
	if r.asked[asked.ID] != nil {
		return true, nil
	}
	q := &openQuestion{Question: asked}
	r.asked[asked.ID] = q
	if r.person != nil {
		r.waiting = append(r.waiting, q)
		r.next(ctx)
		return false, nil
	}
	switch r.onAsk {
	case settings.OnAskWait:
		return false, nil
	case settings.OnAskFail:
		return false, errLeft(asked)
	case settings.OnAskDeny:
	}
	q.unasked = true
	_, err = r.d.Decide(ctx, asked.ID, api.Decision{Decision: approval.Deny, Message: question.WhyAsked(asked) + nobodyThere, Digest: asked.Digest})
	if errors.Is(err, approval.ErrAnswered) {
		q.unasked, err = false, nil
	}
	return true, err
}

// next puts the next question on the screen, when there is none.
func (r *remoteRun) next(ctx context.Context) {
	if len(r.waiting) == 0 || r.waiting[0].done != nil {
		return
	}
	q := r.waiting[0]
	ctx, q.cancel = context.WithCancel(ctx)
	q.done = make(chan struct{})
	go func() {
		defer close(q.done)
		ans, err := r.person.Ask(ctx, q.Question)
		select {
		case r.answers <- personSaid{q, ans, err}:
		case <-ctx.Done():
		}
	}()
}

// drop takes a question off the screen, and puts the next one there.
func (r *remoteRun) drop(ctx context.Context, q *openQuestion) {
	if q.cancel != nil {
		q.cancel()
		<-q.done
	}
	if i := slices.Index(r.waiting, q); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
	r.next(ctx)
}

// closeQuestions takes all questions off the screen.
func (r *remoteRun) closeQuestions() {
	for _, q := range r.waiting {
		if q.cancel != nil {
			q.cancel()
			<-q.done
		}
	}
	r.waiting = nil
}

// answered sends the person's answer. When somebody was faster, theirs counts.
func (r *remoteRun) answered(ctx context.Context, a personSaid) error {
	if a.err != nil {
		r.drop(ctx, a.q)
		return nil //nolint:nilerr // the question is gone, or the run is being stopped
	}
	if a.ans.By == question.Nobody { // the terminal is gone, which is no answer: others can give one
		r.drop(ctx, a.q)
		return errLeft(a.q.Question)
	}
	a.q.mine = &a.ans
	_, err := r.d.Decide(ctx, a.q.ID, api.Decision{
		Decision: a.ans.Decision, Scope: a.ans.Scope, Message: a.ans.Message, Stop: a.ans.Stop, Input: a.ans.Input, Digest: a.q.Digest,
	})
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Winner != nil {
		err = r.view.Show(event.ApprovalResolved{ID: a.q.ID, Answer: *p.Winner, Late: &a.ans})
		a.q.resolved = true
	}
	r.drop(ctx, a.q)
	return err
}

// resolved is what is to be shown of an answer: nothing of one that nobody gave, and
// of one's own that it was given here.
func (r *remoteRun) resolved(e event.ApprovalResolved) event.Event {
	q := r.asked[e.ID]
	if q == nil {
		return e
	}
	shown := q.resolved || q.unasked
	q.resolved = true
	if q.mine == nil {
		r.drop(context.Background(), q)
	} else if q.mine.Decision == e.Answer.Decision && e.Answer.By == r.d.Info().Caller.Name {
		e.Answer.Via = question.ViaTerminal
	}
	if shown {
		return nil
	}
	return e
}

// undecided makes a no of nobody's of one that was said because nobody was there.
func (r *remoteRun) undecided(d *policy.Decision) {
	if d.Effect != policy.Deny {
		return
	}
	for _, q := range r.asked {
		if q.unasked && q.Use == d.Use {
			d.By, d.Reason, d.Asked, d.Grant = question.Nobody, question.WhyAsked(q.Question), false, ""
		}
	}
}

// unasked is undecided for a whole result.
func (r *remoteRun) unasked(res *event.Result) {
	res.Denials = slices.Clone(res.Denials)
	for i := range res.Denials {
		r.undecided(&res.Denials[i])
	}
}
