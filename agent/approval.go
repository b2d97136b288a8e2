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

// The actors of answers that no person gave.
const (
	byTimeout       = "timeout"
	byInterrupt     = "interrupt"
	byExpiredCaller = "lapse" // whoever asked for the call has ended
)

// requestApproval records the question about a call and leaves the call waiting. One
// question waits at a time: what the next call would do depends on this one.
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
	c.approval, c.told = &q, true
	l.reserveID(q.ID)
	l.await(c)
	return append(c.hooks.takeEntries(), entry{draft: d, event: event.ApprovalAsked{Request: q}}), nil
}

// await makes c the call that waits, or none.
func (l *loop) await(c *call) {
	l.a.mu.Lock()
	defer l.a.mu.Unlock()
	l.round.asked, l.a.asking = c, c != nil
}

// announceApproval tells of a question from before a restart, once.
func (l *loop) announceApproval(c *call) error {
	if c.told {
		return nil
	}
	c.told = true
	if l.head == nil {
		if err := l.refreshHead(); err != nil {
			return err
		}
	}
	l.lookup(c) // a tool that is gone is told when the answer is there
	if _, answered := l.a.shared.answer(c.approval.ID); !answered {
		l.publish(event.ApprovalAsked{Request: *c.approval})
	}
	return nil
}

// consult puts a question to whoever answers first, and takes the answer.
func (l *loop) consult(ctx context.Context, q approval.Request) error {
	asking, stop := l.untilAbandoned(ctx)
	defer stop()
	ans, err := l.ask(asking, q)
	switch {
	case asking.Err() != nil:
		return nil // next answers the question
	case errors.Is(err, approval.ErrSuspend) && l.round.asked.nested != nil:
		ans = noAnswer("the run cannot be suspended while the command that asked is running").ans
	case errors.Is(err, approval.ErrSuspend):
		return fmt.Errorf("agent: approval request %s for %s: %w", q.ID, q.Tool, err)
	case err != nil:
		return err
	}
	err = l.resolve(ctx, q.ID, &ans)
	if errors.Is(err, approval.ErrAnswered) {
		return nil // the event has told it
	}
	return err
}

// reply is one answer on its way, from the person here or from the log.
type reply struct {
	ans  approval.Answer
	err  error
	here bool // a person here gave ans
}

// patience is how long an asker may take to notice that its context ended.
// An asker that takes longer is abandoned, and its answer is ignored.
const patience = 2 * time.Second

// ask waits for the person here and for an answer that another program records,
// whichever comes first. If both have answered, it returns the answer of the person here:
// resolve finds the recorded one in the log.
func (l *loop) ask(ctx context.Context, q approval.Request) (approval.Answer, error) {
	if l.a.opt.Permissions.Ask == nil {
		return approval.Answer{Decision: approval.Deny, Actor: byNobody}, nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	replies := make(chan reply, 2)
	reminded := l.remindOf(ctx)
	defer func() {
		stop()
		<-reminded
	}()
	asked := 1
	go func() {
		r := unasked("the approval callback ended without an answer")
		defer func() { replies <- r }() // whatever becomes of this goroutine
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
		go func() { replies <- expire(ctx, q.Expires.Sub(l.a.opt.Clock())) }()
	}
	var first reply
	select {
	case first = <-replies:
		asked--
	case <-ctx.Done():
		first.err = context.Cause(ctx)
	}
	stop()
	over := time.NewTimer(patience)
	defer over.Stop()
	for range asked {
		select {
		case r := <-replies:
			if r.here && first.err == nil {
				first = r // resolve records it as the late answer if it differs
			}
		case <-over.C:
			return first.ans, first.err
		}
	}
	return first.ans, first.err
}

// idleAfter is how long a person may look at a question before hooks are told that it waits.
const idleAfter = time.Minute

// remindOf tells hooks, once, that the person who is asked has not answered for a while. What
// it returns is closed when it has ended, which it does soon after ctx.
func (l *loop) remindOf(ctx context.Context) <-chan struct{} {
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
			_, _ = l.a.Fire(ctx, hook.Input{ // a store that fails stops the loop by itself
				Event: hook.Notification,
				Note:  hook.UserNotification{Type: "idle_prompt", Title: "Waiting for you", Body: "Holdfast is waiting for your input"},
			})
		}
	}()
	return done
}

// askHere calls the approver of the host. Every error except ErrSuspend denies.
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

// noAnswer is the denial for an approver that gave no answer.
func noAnswer(why string) reply {
	return reply{ans: approval.Answer{Decision: approval.Deny, Actor: byNobody, Message: why}}
}

func expire(ctx context.Context, after time.Duration) reply {
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

// pollAnswer looks whether the question that waits was answered elsewhere, or whether
// its time is up.
func (l *loop) pollAnswer(ctx context.Context) (settled bool, err error) {
	if err := l.retryRead(ctx, func() error { return l.a.shared.readNew(ctx) }); err != nil {
		return false, err
	}
	q := l.round.asked.approval
	if _, answered := l.a.shared.answer(q.ID); answered {
		return true, l.resolve(ctx, q.ID, nil)
	}
	if !l.late(q) {
		return false, nil
	}
	ans := timedOut()
	if err = l.resolve(ctx, q.ID, &ans); errors.Is(err, approval.ErrAnswered) {
		err = nil
	}
	return true, err
}

// How often a read that fails for now is tried again while a question waits. What the
// pauses add up to is the time that the store has: about ten minutes.
const (
	readTries = 125
	readPause = 5 * time.Second // at most; the first is a 20th of it
)

// retryRead reads while a question waits: one read that fails is no reason to end the run.
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

// cancelApproval answers the question that waits because the turn ends.
func (l *loop) cancelApproval(ctx context.Context) error {
	err := l.resolve(ctx, l.round.asked.approval.ID, &approval.Answer{
		Decision: approval.Deny, Actor: byInterrupt, Message: "approval cancelled",
	})
	if errors.Is(err, approval.ErrAnswered) {
		return nil
	}
	return err
}

func (l *loop) late(q *approval.Request) bool {
	return q.Expires != nil && !l.a.opt.Clock().Before(*q.Expires)
}
