package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/dialog"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/optional"
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
	reply   chan granted    // takes one
}

// granted is what came of a wish: the input that was allowed, or why not.
type granted struct {
	input json.RawMessage
	err   error
}

// ask hands a wish to the loop and waits; it returns the input that was allowed. The call
// that asks ends with ctx.
func (w *work) ask(ctx, asker context.Context, c *call, r policy.Request) (json.RawMessage, error) {
	asker, done := context.WithCancelCause(asker)
	defer done(nil)
	defer context.AfterFunc(ctx, func() { done(errors.New("the call has ended")) })()
	wish := &wish{of: c, request: r, ctx: asker, reply: make(chan granted, 1)}
	select {
	case w.wishes <- wish:
	case <-asker.Done():
		return nil, context.Cause(asker)
	}
	select {
	case g := <-wish.reply:
		return g.input, g.err
	case <-asker.Done():
	}
	select {
	case g := <-wish.reply: // it came first, and may be why the call ends
		return g.input, g.err
	default:
		return nil, context.Cause(asker)
	}
}

// gone reports whether nobody waits for the answer any more.
func (w *wish) gone() bool { return w.ctx.Err() != nil }

// weighWish has a wish judged by the guard of the tool that it names, and asks
// about it where the guard says so.
func (l *loop) weighWish(ctx context.Context, w *wish) error {
	if err := l.a.shared.takeIn(ctx); err != nil {
		return err
	}
	l.tellChanges()
	c, err := l.wishCall(w)
	if err != nil {
		w.reply <- granted{err: err}
		return nil //nolint:nilerr // it is the caller's error, who has it
	}
	c.judged = l.a.asOf()
	c.decision = l.decide(ctx, c, c.requests, c.call.Input)
	err = l.consultHooks(ctx, c)
	if ctx.Err() != nil { // what was said may be because of this
		err = context.Cause(ctx)
	}
	if err != nil {
		w.reply <- granted{err: err}
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
	draft, err := session.NewDraft(record.KindDecision, *d)
	if err != nil {
		return err
	}
	if err := l.write(ctx, append(c.hooks.takeEntries(), entry{draft: draft, event: event.Decided{Decision: *d}})...); err != nil {
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
		c.wish.reply <- granted{input: c.call.Input}
	case d.Asked:
		c.wish.reply <- granted{err: denied(d, denial(d))}
	default:
		c.wish.reply <- granted{err: denied(d, refusal(d))}
	}
}

// denied is the error of a no, which says so when it is nobody's.
func denied(d policy.Decision, text string) error {
	switch d.By {
	case byNobody, byTimeout, byInterrupt:
		return undecided(text)
	}
	return errors.New(text)
}

// undecided is a no that nobody has said, in the words of one.
type undecided string

func (u undecided) Error() string { return string(u) }

func (undecided) Is(target error) bool { return target == tool.ErrUndecided }

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

// whileWanted ends ctx when the question that waits is about a wish or a call that nobody
// waits for any more.
func (l *loop) whileWanted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	r := l.round
	if r == nil || r.asked == nil {
		return ctx, stop
	}
	if r.asked.wish != nil {
		release := context.AfterFunc(r.asked.wish.ctx, stop)
		return ctx, func() { release(); stop() }
	}
	if lapsed, _ := r.asked.lapse(); lapsed != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			select {
			case <-lapsed:
				stop()
			case <-ctx.Done():
			}
		}()
		return ctx, func() { stop(); <-done }
	}
	return ctx, stop
}

// lapse is the channel that is closed when a call cannot run any more, or nil.
func (c *call) lapse() (<-chan struct{}, func() string) {
	if t, ok := c.tool.(optional.Lapser); ok && c.call != nil {
		return t.Lapse(c.call)
	}
	return nil, nil
}

// lapsed says why a call cannot run any more, or "".
func (c *call) lapsed() string {
	if lapsed, why := c.lapse(); lapsed != nil {
		select {
		case <-lapsed:
			return cmp.Or(why(), "whoever asked for it has ended")
		default:
		}
	}
	return ""
}

// withdrawLapsed answers the question about a call that cannot run any more.
func (l *loop) withdrawLapsed(ctx context.Context, why string) error {
	err := l.resolve(ctx, l.round.asked.question.ID, &approval.Answer{Decision: approval.Deny, By: byLapse, Message: why})
	if errors.Is(err, approval.ErrAnswered) {
		return nil
	}
	return err
}

// door is the tool of a wish: it stands for exactly one request.
type door struct{ request policy.Request }

func (d door) Spec() tool.Spec { return tool.Spec{Name: d.request.Tool} }

// Requests are the one that it stands for. Only a form can be given another input, and only
// by the person who was asked.
func (d door) Requests(c *tool.Call) ([]policy.Request, error) {
	r := d.request
	if string(compact(c.Input)) == string(compact(r.Input)) {
		return []policy.Request{r}, nil
	}
	if !r.Form || c.Asked == nil {
		return nil, errors.New("what a running call asks for cannot be changed")
	}
	if _, err := dialog.ReadForm(r.Input, c.Input); err != nil {
		return nil, err
	}
	r.Input = c.Input
	return []policy.Request{r}, nil
}

func (d door) Run(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Result{}, errors.New("it is part of a call that runs")
}
