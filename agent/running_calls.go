package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// runningCalls contains the ready calls of a round while they run, each on its own goroutine. The
// loop's goroutine waits until the calls end, and handles their nested requests. A call that
// continues in the background is no longer part of it.
//
//	calls ─► Call.Ask ─► requests ─► awaitCall ─► guard ─► allow, deny, or an approval request
//	      └► over ─────────────────► awaitCall ─► results
type runningCalls struct {
	jobs     []*job
	over     chan struct{} // closed when all calls have ended or continue in the background
	requests chan *nestedRequest
}

// startCalls runs calls that are already recorded as started. They continue between calls of
// Driver.Next, and end with ctx only during awaitCall.
func (l *loop) startCalls(ctx context.Context, calls []*call) *runningCalls {
	w := &runningCalls{over: make(chan struct{}), requests: make(chan *nestedRequest)}
	var wg sync.WaitGroup
	for _, c := range calls {
		j := l.newJob(context.WithoutCancel(ctx), c)
		w.jobs = append(w.jobs, j)
		go l.runCall(w, j)
		wg.Go(func() { l.a.opt.Background.watch(l.a, j) })
	}
	go func() {
		wg.Wait()
		close(w.over)
	}()
	return w
}

// stop interrupts the calls.
func (w *runningCalls) stop(cause error) {
	for _, j := range w.jobs {
		j.interrupt(cause)
	}
}

// storeResults stores the result of each job in its call.
func (w *runningCalls) storeResults() {
	for _, j := range w.jobs {
		j.deliver()
	}
}

func (l *loop) runCall(w *runningCalls, j *job) {
	began := l.a.opt.Clock()
	result := tool.Failure("tool execution failed: the tool called runtime.Goexit")
	defer func() {
		if p := recover(); p != nil {
			result = tool.Failure(fmt.Sprintf("tool execution failed: panic: %v\n%s", p, debug.Stack()))
		}
		j.end(result, l.a.opt.Clock().Sub(began))
	}()
	as := *j.c.call
	as.Output = &j.out
	as.Save = l.fileSaver(j.c)
	as.Fill = func(asker context.Context, r policy.Request) (json.RawMessage, error) {
		r.Person, r.Form = true, true
		return l.askNested(w, j, asker, r)
	}
	as.Ask = func(asker context.Context, r policy.Request) error {
		_, err := l.askNested(w, j, asker, r)
		return err
	}
	res, err := j.c.tool.Run(context.WithValue(j.ctx, agentKey{}, l.a), &as)
	switch {
	case err != nil && j.ctx.Err() != nil:
		res = tool.Failure("interrupted while running; it may have taken effect in part")
	case err != nil:
		res = tool.Failure("tool execution failed: " + err.Error())
	}
	result = res
}

// askNested handles a nested request of a job that runs in the foreground or background. It returns
// the allowed input.
func (l *loop) askNested(w *runningCalls, j *job, asker context.Context, r policy.Request) (json.RawMessage, error) {
	if j.holdForeground() {
		defer j.releaseForeground()
		return w.ask(j.ctx, asker, j.c, r)
	}
	return l.judgeBackground(asker, j.c, r)
}

// awaitCall waits for the running calls or for a nested request.
func (l *loop) awaitCall(ctx context.Context) (DriverState, bool, error) {
	r := l.round
	w := r.running
	if c := r.asked; c != nil {
		switch {
		case ctx.Err() != nil:
			return DriverState{}, false, l.cancelApproval(ctx)
		case c.nested.abandoned():
			return DriverState{}, false, l.withdrawNested(ctx)
		}
		if settled, err := l.pollAnswer(ctx); settled || err != nil {
			return DriverState{}, false, err
		}
		return DriverState{Approvals: r.approvals()}, true, l.notifyApproval(ctx, c)
	}
	if r.stop {
		w.stop(errInterrupted)
	}
	output := time.NewTicker(outputInterval)
	defer output.Stop()
	for over := false; !over; {
		select {
		case <-w.over:
			over = true
		case <-ctx.Done():
			w.stop(context.Cause(ctx))
			<-w.over
			over = true
		case nested := <-w.requests:
			return DriverState{}, false, l.judgeNested(ctx, nested)
		case <-l.a.wake:
			l.emitPending()
			l.emitChanges()
			return DriverState{}, false, l.a.suspendedBy()
		case <-output.C:
			l.emitOutput(w)
		}
	}
	w.storeResults()
	r.running = nil
	return l.nextCalls(ctx)
}

// halt ends the calls that are still running when the loop stops, and records their results. If it
// cannot do that, the loop is broken.
func (l *loop) halt(ctx context.Context) error {
	err := l.endEarly(ctx)
	if err != nil && l.broken == nil {
		l.broken = err
	}
	return err
}

func (l *loop) endEarly(ctx context.Context) error {
	r := l.round
	if r == nil || r.running == nil {
		return nil
	}
	r.running.stop(errInterrupted)
	<-r.running.over
	r.running.storeResults()
	r.running = nil
	if l.broken != nil {
		return nil //nolint:nilerr // the error was reported when the loop broke, and nothing can be recorded
	}
	if r.asked != nil {
		if err := l.cancelApproval(ctx); err != nil {
			return err
		}
	}
	entries, err := l.finishReady(ctx)
	if err != nil {
		return err
	}
	return l.write(ctx, entries...)
}
