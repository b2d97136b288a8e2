package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/toolext"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// nestedRequest is a permission request that a call raises while it runs, such as a connection to
// a host that is not in its sandbox's list. It is judged like a call, and the approver is asked in
// the same way.
type nestedRequest struct {
	of      *call // the running call
	request policy.Request
	ctx     context.Context  // ends when the requester no longer waits for the answer
	reply   chan nestedReply // buffered, so that sending the one reply never blocks
}

// nestedReply is the result of a nested request: the allowed input, or the reason it was denied.
type nestedReply struct {
	input json.RawMessage
	err   error
}

// ask sends a nested request to the loop and waits for the reply. It returns the allowed input. It
// returns when ctx, the context of the call, ends.
func (w *runningCalls) ask(ctx, asker context.Context, c *call, r policy.Request) (json.RawMessage, error) {
	asker, done := context.WithCancelCause(asker)
	defer done(nil)
	defer context.AfterFunc(ctx, func() { done(errors.New("the call has ended")) })()
	nested := &nestedRequest{of: c, request: r, ctx: asker, reply: make(chan nestedReply, 1)}
	select {
	case w.requests <- nested:
	case <-asker.Done():
		return nil, context.Cause(asker)
	}
	select {
	case g := <-nested.reply:
		return g.input, g.err
	case <-asker.Done():
	}
	select {
	case g := <-nested.reply: // the reply arrived first, and may be the reason why the call ends
		return g.input, g.err
	default:
		return nil, context.Cause(asker)
	}
}

// abandoned reports whether the requester no longer waits for the answer.
func (w *nestedRequest) abandoned() bool { return w.ctx.Err() != nil }

// judgeNested judges a nested request with the guard of its tool, and requests approval if the
// guard asks.
func (l *loop) judgeNested(ctx context.Context, w *nestedRequest) error {
	if err := l.a.shared.readNew(ctx); err != nil {
		return err
	}
	l.emitChanges()
	c, err := l.nestedCall(w)
	if err != nil {
		w.reply <- nestedReply{err: err}
		return nil //nolint:nilerr // the requester gets the error
	}
	c.judged = l.a.policyVersion()
	c.decision = l.decide(ctx, c, c.requests, c.call.Input)
	err = l.firePermissionRequest(ctx, c)
	if ctx.Err() != nil { // hook results after an interrupt may be a consequence of the interrupt
		err = context.Cause(ctx)
	}
	if err != nil {
		w.reply <- nestedReply{err: err}
		return l.write(ctx, c.hooks.takeEntries()...)
	}
	d := &c.decision
	switch {
	case d.Effect == policy.Ask && !l.alone:
		entries, err := l.requestApproval(c)
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
	if err := l.write(ctx, append(c.hooks.takeEntries(), entry{draft: draft, event: event.DecisionMade{Decision: *d}})...); err != nil {
		return err
	}
	l.round.stop = l.round.stop || d.Stop
	c.replyNested()
	return nil
}

// nestedCall returns a nested request as a call.
func (l *loop) nestedCall(w *nestedRequest) (*call, error) {
	c := &call{use: w.of.use, nested: w}
	c.use.Name = w.request.Tool
	c.use.Input = jsonscan.Compact(w.request.Input)
	c.tool = requestTool{w.request}
	c.call = &tool.Call{ID: c.use.ID, Session: l.opened.ID, Tool: c.use.Name, Input: c.use.Input}
	var err error
	c.requests, err = l.requests(c, c.use.Input)
	return c, err
}

// replyNested sends the decision to the requester.
func (c *call) replyNested() {
	d := c.decision
	switch {
	case d.Effect == policy.Allow:
		c.nested.reply <- nestedReply{input: c.call.Input}
	case d.PersonAsked:
		c.nested.reply <- nestedReply{err: denied(d, denial(d))}
	default:
		c.nested.reply <- nestedReply{err: denied(d, refusal(d))}
	}
}

// denied returns the error for a denial. The error is an errUndecided if no person decided.
func denied(d policy.Decision, text string) error {
	switch d.By {
	case byNobody, byTimeout, byInterrupt:
		return errUndecided(text)
	}
	return errors.New(text)
}

// errUndecided is a denial that was not a decision of a person.
type errUndecided string

func (u errUndecided) Error() string { return string(u) }

func (errUndecided) Is(target error) bool { return target == tool.ErrUndecided }

// withdrawNested closes the approval request of an abandoned nested request.
func (l *loop) withdrawNested(ctx context.Context) error {
	c := l.round.asked
	err := l.resolve(ctx, c.approval.ID, &approval.Answer{
		Decision: approval.Deny, Actor: byInterrupt, Message: fmt.Sprintf("withdrawn: %v", context.Cause(c.nested.ctx)),
	})
	if errors.Is(err, approval.ErrAnswered) {
		return nil
	}
	return err
}

// untilAbandoned ends ctx when the waiting approval request is abandoned because its call or nested
// request has ended.
func (l *loop) untilAbandoned(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	r := l.round
	if r == nil || r.asked == nil {
		return ctx, stop
	}
	if r.asked.nested != nil {
		release := context.AfterFunc(r.asked.nested.ctx, stop)
		return ctx, func() { release(); stop() }
	}
	if expired, _ := r.asked.void(); expired != nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			select {
			case <-expired:
				stop()
			case <-ctx.Done():
			}
		}()
		return ctx, func() { stop(); <-done }
	}
	return ctx, stop
}

// void returns a channel that is closed when a call can no longer run, and a function that returns
// the reason. The channel is nil if the call does not depend on anything that can end.
func (c *call) void() (<-chan struct{}, func() string) {
	if t, ok := c.tool.(toolext.Voidable); ok && c.call != nil {
		return t.Void(c.call)
	}
	return nil, nil
}

// voidReason returns the reason why a call can no longer run, or "".
func (c *call) voidReason() string {
	if expired, why := c.void(); expired != nil {
		select {
		case <-expired:
			return cmp.Or(why(), "the program that asked has ended")
		default:
		}
	}
	return ""
}

// withdrawVoid denies the approval request of a call that can no longer run.
func (l *loop) withdrawVoid(ctx context.Context, why string) error {
	err := l.resolve(ctx, l.round.asked.approval.ID, &approval.Answer{Decision: approval.Deny, Actor: byExpiredCaller, Message: why})
	if errors.Is(err, approval.ErrAnswered) {
		return nil
	}
	return err
}

// requestTool is the stand-in tool of a nested request. It has exactly one request.
type requestTool struct{ request policy.Request }

func (d requestTool) Spec() tool.Spec { return tool.Spec{Name: d.request.Tool} }

// Requests returns the nested request. Only a form can get another input, and only from the user
// who answers it.
func (d requestTool) Requests(c *tool.Call) ([]policy.Request, error) {
	r := d.request
	if string(jsonscan.Compact(c.Input)) == string(jsonscan.Compact(r.Input)) {
		return []policy.Request{r}, nil
	}
	if !r.Form || c.OriginalInput == nil {
		return nil, errors.New("the request of a running call cannot be changed")
	}
	if _, err := forms.ReadForm(r.Input, c.Input); err != nil {
		return nil, err
	}
	r.Input = c.Input
	return []policy.Request{r}, nil
}

func (d requestTool) Run(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Result{}, errors.New("a request of a running call cannot run by itself")
}
