package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// The actors of answers that did not come from a person.
const (
	byTimeout       = "timeout"
	byInterrupt     = "interrupt"
	byExpiredCaller = "lapse" // the program that requested the call has ended
)

// requestApproval records an approval request for a call and leaves the call waiting. Only one
// request waits at a time, because the effect of the next call depends on the current one.
func (l *loop) requestApproval(c *call) ([]entry, error) {
	q := approval.Request{
		ID: l.newID(""), Home: l.a.opt.Permissions.Config.Home, Cwd: l.cwd(),
		Sandbox: c.decision.Sandbox, AskedAt: l.a.opt.Clock(),
	}
	if limit := l.a.opt.Permissions.AskTimeout; limit > 0 {
		at := q.AskedAt.Add(limit)
		q.Expires = &at
	}
	q = q.ForRequests(c.requests, c.decision)
	q.Session = l.opened.ID
	if l.runLog != l.log {
		q.Session, q.Asker = l.runLog.ID(), l.opened.ID
	}
	d, err := session.NewDraft(record.KindApprovalAsked, q)
	if err != nil {
		return nil, err
	}
	c.approval, c.announced = &q, true
	l.reserveID(q.ID)
	l.setAsked(c)
	return append(c.hooks.takeEntries(), entry{draft: d, event: event.ApprovalAsked{Request: q}}), nil
}

// setAsked sets the call that waits for approval; nil means that no call waits.
func (l *loop) setAsked(c *call) {
	l.a.mu.Lock()
	defer l.a.mu.Unlock()
	l.round.asked, l.a.asking = c, c != nil
}

// announceApproval emits the approval request of a call if it was recorded before a restart. It
// does so only once.
func (l *loop) announceApproval(c *call) error {
	if c.announced {
		return nil
	}
	c.announced = true
	if l.head == nil {
		if err := l.refreshHead(); err != nil {
			return err
		}
	}
	l.lookup(c) // if the tool no longer exists, the call fails when the answer arrives
	if _, answered := l.a.shared.answer(c.approval.ID); !answered {
		l.publish(event.ApprovalAsked{Request: *c.approval})
	}
	return nil
}

// consult asks for an answer to an approval request and applies the first answer.
func (l *loop) consult(ctx context.Context, q approval.Request) error {
	asking, stop := l.untilAbandoned(ctx)
	defer stop()
	ans, err := l.ask(asking, q)
	switch {
	case asking.Err() != nil:
		return nil // next answers the request
	case errors.Is(err, approval.ErrSuspend) && l.round.asked.nested != nil:
		ans = noAnswer("the run cannot be suspended while the command that asked is running").ans
	case errors.Is(err, approval.ErrSuspend):
		return fmt.Errorf("agent: approval request %s for %s: %w", q.ID, q.Tool, err)
	case err != nil:
		return err
	}
	err = l.resolve(ctx, q.ID, &ans)
	if errors.Is(err, approval.ErrAnswered) {
		return nil // an event has already reported that another answer came first
	}
	return err
}

// reply is one answer, from the approver of this process or from the log.
type reply struct {
	ans  approval.Answer
	err  error
	here bool // true if the approver of this process gave ans
}

// askGrace is how long an approval callback may take to return after its context has ended.
// A callback that takes longer is abandoned, and its answer is ignored.
const askGrace = 2 * time.Second

// ask waits for the approver of this process and for an answer that another program records. It
// returns when the first answer arrives. If both have answered, it returns the approver's answer,
// and resolve finds the recorded answer in the log.
func (l *loop) ask(ctx context.Context, q approval.Request) (approval.Answer, error) {
	if l.a.opt.Permissions.Ask == nil {
		return approval.Answer{Decision: approval.Deny, Actor: byNobody}, nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	replies := make(chan reply, 2)
	reminded := l.notifyIdle(ctx)
	defer func() {
		stop()
		<-reminded
	}()
	asked := 1
	go func() {
		r := unasked("the approval callback ended without an answer")
		defer func() { replies <- r }() // this also runs if the callback calls runtime.Goexit
		r = l.askHere(ctx, q)
	}()
	switch {
	case l.log != nil:
		asked++
		go func() {
			ans, err := approval.Wait(ctx, l.runLog.Sessions(), l.runLog.ID(), q)
			replies <- reply{ans: ans, err: err}
		}()
	case q.Expires != nil:
		asked++
		go func() { replies <- expireAfter(ctx, q.Expires.Sub(l.a.opt.Clock())) }()
	}
	var first reply
	select {
	case first = <-replies:
		asked--
	case <-ctx.Done():
		first.err = context.Cause(ctx)
	}
	stop()
	over := time.NewTimer(askGrace)
	defer over.Stop()
	for range asked {
		select {
		case r := <-replies:
			if r.here && first.err == nil {
				first = r // resolve records the answer as a late answer if it differs
			}
		case <-over.C:
			return first.ans, first.err
		}
	}
	return first.ans, first.err
}

// idleAfter is how long an approval request waits before notifyIdle fires a Notification.
const idleAfter = time.Minute

// notifyIdle fires a Notification of the type idle_prompt, once, if the approver has not answered
// after idleAfter. The returned channel is closed when notifyIdle has finished, at the latest soon
// after ctx ends.
func (l *loop) notifyIdle(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	if !l.a.opt.Hooks.Registry.Has(hook.Notification) {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		t := time.NewTimer(idleAfter)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
			_, _ = l.a.Fire(ctx, hook.Input{ // the loop is stopped elsewhere if the store fails
				Event: hook.Notification,
				Note:  hook.UserNotification{Type: "idle_prompt", Title: "Waiting for you", Body: "Holdfast is waiting for your input"},
			})
		}
	}()
	return done
}

// askHere calls the host's approval callback. Every error except ErrSuspend denies the call.
func (l *loop) askHere(ctx context.Context, q approval.Request) (r reply) {
	defer func() {
		if p := recover(); p != nil {
			r = unasked(fmt.Sprintf("panic: %v", p))
		}
	}()
	ans, err := l.a.opt.Permissions.Ask(ctx, q)
	switch {
	case errors.Is(err, approval.ErrSuspend):
		return reply{err: err}
	case err != nil:
		return noAnswer("the approver failed: " + err.Error())
	}
	if err := q.Check(ans); err != nil {
		return noAnswer("the answer is invalid: " + err.Error())
	}
	return reply{ans: ans, here: true}
}

func unasked(why string) reply { return noAnswer("could not ask the approver: " + why) }

// noAnswer returns the denial for an approver that gave no valid answer.
func noAnswer(why string) reply {
	return reply{ans: approval.Answer{Decision: approval.Deny, Actor: byNobody, Message: why}}
}

func expireAfter(ctx context.Context, after time.Duration) reply {
	t := time.NewTimer(after)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return reply{err: context.Cause(ctx)}
	case <-t.C:
		return reply{ans: timedOut()}
	}
}

func timedOut() approval.Answer {
	return approval.Answer{Decision: approval.Deny, Actor: byTimeout, Message: "timeout: no answer in time"}
}

// pollAnswer resolves the pending approval request if another program has answered it or if it has
// expired. It reports whether it did.
func (l *loop) pollAnswer(ctx context.Context) (settled bool, err error) {
	if err := l.retryRead(ctx, func() error { return l.a.shared.readNew(ctx) }); err != nil {
		return false, err
	}
	q := l.round.asked.approval
	if _, answered := l.a.shared.answer(q.ID); answered {
		return true, l.resolve(ctx, q.ID, nil)
	}
	if !l.isLate(q) {
		return false, nil
	}
	ans := timedOut()
	if err = l.resolve(ctx, q.ID, &ans); errors.Is(err, approval.ErrAnswered) {
		err = nil
	}
	return true, err
}

// The limits for repeating a read that failed with a transient error while an approval request
// waits. The pauses add up to about ten minutes, which is the time that the store has to recover.
const (
	readTries = 125
	readPause = 5 * time.Second // the longest pause; the first pause is a 20th of it
)

// retryRead calls read again after transient errors, so that a failed read does not end the run
// while an approval request waits.
func (l *loop) retryRead(ctx context.Context, read func() error) error {
	err := read()
	for n := 1; n < readTries && session.IsTransient(err) && ctx.Err() == nil; n++ {
		if l.a.opt.Sleep(ctx, min(readPause/20<<min(n-1, 10), readPause)) != nil {
			break
		}
		err = read()
	}
	return err
}

// cancelApproval denies the pending approval request because the turn ends.
func (l *loop) cancelApproval(ctx context.Context) error {
	err := l.resolve(ctx, l.round.asked.approval.ID, &approval.Answer{
		Decision: approval.Deny, Actor: byInterrupt, Message: "approval cancelled",
	})
	if errors.Is(err, approval.ErrAnswered) {
		return nil
	}
	return err
}

func (l *loop) isLate(q *approval.Request) bool {
	return q.Expires != nil && !l.a.opt.Clock().Before(*q.Expires)
}
