package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// work is the ready calls of a round while they run, each on a goroutine of its
// own. The loop's goroutine waits for their end, and answers what they ask.
//
//	calls ─► Call.Ask ─► wishes ─► attend ─► guard ─► yes, no, or a question that waits
//	      └► over ─────────────────► attend ─► results
type work struct {
	stop   context.CancelCauseFunc // ends the calls
	over   chan struct{}           // closed when all have ended
	wishes chan *wish
}

// startWork runs calls that are on disk as started. They go on while a Driver's
// host has the reins, and end with ctx only while the loop attends to them.
func (l *loop) startWork(ctx context.Context, calls []*call) *work {
	w := &work{over: make(chan struct{}), wishes: make(chan *wish)}
	ctx, w.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	for _, c := range calls {
		wg.Go(func() { l.runCall(ctx, w, c) })
	}
	go func() {
		wg.Wait()
		w.stop(nil)
		close(w.over)
	}()
	return w
}

func (l *loop) runCall(ctx context.Context, w *work, c *call) {
	began := l.a.opt.Clock()
	defer func() {
		if p := recover(); p != nil {
			c.result = tool.Failure(fmt.Sprintf("tool execution failed: panic: %v\n%s", p, debug.Stack()))
		}
		c.took = l.a.opt.Clock().Sub(began)
	}()
	c.result = tool.Failure("tool execution failed: it ended its goroutine")
	as := *c.call
	ctx, ended := context.WithCancel(ctx)
	defer ended()
	as.Ask = func(asker context.Context, r policy.Request) error { return w.ask(ctx, asker, c, r) }
	res, err := c.tool.Run(ctx, &as)
	switch {
	case err != nil && ctx.Err() != nil:
		res = tool.Failure("interrupted while it ran: it may have taken effect in part")
	case err != nil:
		res = tool.Failure("tool execution failed: " + err.Error())
	}
	c.result = res
}

// attend waits for the calls that run, or for what they ask meanwhile.
func (l *loop) attend(ctx context.Context) (Step, bool, error) {
	r := l.round
	w := r.work
	if c := r.asked; c != nil {
		switch {
		case ctx.Err() != nil:
			return Step{}, false, l.cancelQuestion(ctx)
		case c.wish.gone():
			return Step{}, false, l.withdrawWish(ctx)
		}
		if settled, err := l.revisit(ctx); settled || err != nil {
			return Step{}, false, err
		}
		return Step{Kind: StepNeedsApproval, Questions: r.questions()}, true, l.notifyAsked(ctx, c)
	}
	if r.stop {
		w.stop(errInterrupted)
	}
	select {
	case <-w.over:
	case <-ctx.Done():
		w.stop(context.Cause(ctx))
		<-w.over
	case wish := <-w.wishes:
		return Step{}, false, l.weighWish(ctx, wish)
	}
	r.work = nil
	return l.goOn(ctx)
}

// halt ends calls that still run when the loop will not attend to them any more,
// and records what became of them where it can.
func (l *loop) halt(ctx context.Context) error {
	r := l.round
	if r == nil || r.work == nil {
		return nil
	}
	r.work.stop(errInterrupted)
	<-r.work.over
	r.work = nil
	if l.broken != nil {
		return nil //nolint:nilerr // it was told when it broke, and nothing can be recorded
	}
	if r.asked != nil {
		if err := l.cancelQuestion(ctx); err != nil {
			return err
		}
	}
	entries, err := l.finishReady(ctx)
	if err != nil {
		return err
	}
	return l.write(ctx, entries...)
}
