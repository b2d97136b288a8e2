package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// wish is something that a call wants while it runs: a host that no list of its
// sandbox names. It is judged as a call is, and put to a person as a call is.
type wish struct {
	of      *call // that runs
	request policy.Request
	ctx     context.Context // ends when nobody waits for the answer any more
	reply   chan error      // takes one
}

// ask hands a wish to the loop and waits. The call that asks ends with ctx.
func (w *work) ask(ctx, asker context.Context, c *call, r policy.Request) error {
	asker, done := context.WithCancelCause(asker)
	defer done(nil)
	defer context.AfterFunc(ctx, func() { done(errors.New("the call has ended")) })()
	wish := &wish{of: c, request: r, ctx: asker, reply: make(chan error, 1)}
	select {
	case w.wishes <- wish:
	case <-asker.Done():
		return context.Cause(asker)
	}
	select {
	case err := <-wish.reply:
		return err
	case <-asker.Done():
	}
	select {
	case err := <-wish.reply: // it came first, and may be why the call ends
		return err
	default:
		return context.Cause(asker)
	}
}

// gone reports whether nobody waits for the answer any more.
func (w *wish) gone() bool { return w.ctx.Err() != nil }

// weighWish has a wish judged by the guard of the tool that it names, and asks
// about it where the guard says so.
func (l *loop) weighWish(ctx context.Context, w *wish) error {
	if err := l.a.takeIn(ctx); err != nil {
		return err
	}
	l.tellChanges()
	c, err := l.wishCall(w)
	if err != nil {
		w.reply <- err
		return nil //nolint:nilerr // it is the caller's error, who has it
	}
	c.judged = l.a.asOf()
	c.decision = l.decide(ctx, c, c.requests)
	err = l.consultHooks(ctx, c)
	if ctx.Err() != nil { // what was said may be because of this
		err = context.Cause(ctx)
	}
	if err != nil {
		w.reply <- err
		return l.write(ctx, c.hooks.takeEntries()...)
	}
	d := &c.decision
	switch {
	case d.Effect == policy.Ask && !l.alone:
		entries, err := l.putQuestion(c)
		if err != nil {
			return err
		}
		return l.write(ctx, entries...)
	case d.Effect == policy.Ask:
		d.Effect, d.By = policy.Deny, byNobody
	}
	draft, err := session.NewDraft(session.KindDecision, *d)
	if err != nil {
		return err
	}
	if err := l.write(ctx, append(c.hooks.takeEntries(), entry{draft: draft, event: Decided{Decision: *d}})...); err != nil {
		return err
	}
	l.round.stop = l.round.stop || d.Stop
	c.grantWish()
	return nil
}

// wishCall is a wish in the form in which calls are judged and asked about.
func (l *loop) wishCall(w *wish) (*call, error) {
	c := &call{use: w.of.use, wish: w}
	c.use.Name = w.request.Tool
	c.use.Input = compact(w.request.Input)
	c.tool = door{w.request}
	c.call = &tool.Call{ID: c.use.ID, Session: l.opened.ID, Tool: c.use.Name, Input: c.use.Input}
	var err error
	c.requests, err = l.requests(c, c.use.Input)
	return c, err
}

// grantWish tells whoever waits what was decided.
func (c *call) grantWish() {
	d := c.decision
	switch {
	case d.Effect == policy.Allow:
		c.wish.reply <- nil
	case d.Asked:
		c.wish.reply <- errors.New(denial(d))
	default:
		c.wish.reply <- errors.New(refusal(d))
	}
}

// withdrawWish answers the question about a wish that nobody waits for any more.
func (l *loop) withdrawWish(ctx context.Context) error {
	c := l.round.asked
	err := l.resolve(ctx, c.question.ID, &approval.Answer{
		Decision: approval.Deny, By: byInterrupt, Message: fmt.Sprintf("withdrawn: %v", context.Cause(c.wish.ctx)),
	})
	if errors.Is(err, approval.ErrAnswered) {
		return nil
	}
	return err
}

// whileWished ends ctx when the question that waits is about a wish that nobody
// waits for any more.
func (l *loop) whileWished(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	if r := l.round; r != nil && r.asked != nil && r.asked.wish != nil {
		release := context.AfterFunc(r.asked.wish.ctx, stop)
		return ctx, func() { release(); stop() }
	}
	return ctx, stop
}

// door is the tool of a wish: it stands for exactly one request.
type door struct{ request policy.Request }

func (d door) Spec() tool.Spec { return tool.Spec{Name: d.request.Tool} }

func (d door) Requests(c *tool.Call) ([]policy.Request, error) {
	if string(compact(c.Input)) != string(compact(d.request.Input)) {
		return nil, errors.New("what a running call asks for cannot be changed")
	}
	return []policy.Request{d.request}, nil
}

func (d door) Run(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Result{}, errors.New("it is part of a call that runs")
}
