package hook

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// funcRunner runs functions one after another on its own goroutine. The goroutine of the firing
// waits and enforces the time limit. A function that does not return is abandoned with its
// goroutine, and another goroutine runs the remaining functions.
//
//	firing ── go ─► worker: f1, f2, f3 (too long …)     its result is ignored
//	       ── go ─►                        worker: f4, f5 ─► done
type funcRunner struct {
	f        *fireState
	list     []*entry
	contexts []funcContext
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when the goroutine has ended

	// mu protects the following fields. While the goroutine runs and is not abandoned, it also
	// protects the fields of f.
	mu        sync.Mutex
	next      int       // the index of the running function; len(list) at the end
	startedAt time.Time // when the running function started
	began     time.Time // the same time, from the registry's clock
	abandoned bool
}

// functions runs consecutive functions.
func (f *fireState) functions(ctx context.Context, list []*entry) {
	for len(list) > 0 {
		switch {
		case ctx.Err() != nil:
			f.fail(list, cancelled(ctx))
			return
		case f.r.done():
			f.fail(list, errClosed)
			return
		}
		list = list[f.runFunctions(ctx, list):]
	}
}

// runFunctions runs functions with one worker and returns the number of functions that are done.
func (f *fireState) runFunctions(ctx context.Context, list []*entry) int {
	w := &funcRunner{f: f, list: list, contexts: make([]funcContext, len(list)), done: make(chan struct{}), startedAt: time.Now()}
	ctx, w.cancel = context.WithCancelCause(ctx)
	defer w.cancel(nil)
	go w.run(ctx)
	timer := time.NewTimer(minTimeout(list))
	defer timer.Stop()
	for {
		select {
		case <-w.done:
			return w.ended()
		case <-ctx.Done():
			return w.giveUp(cancelled(ctx))
		case <-f.r.ctx().Done():
			return w.giveUp(errClosed)
		case <-timer.C:
			n, wait := w.overdue()
			if n > 0 {
				return n
			}
			timer.Reset(wait)
		}
	}
}

// minTimeout returns the shortest timeout in the list.
func minTimeout(list []*entry) time.Duration {
	least := list[0].limit
	for _, e := range list[1:] {
		least = min(least, e.limit)
	}
	return least
}

func (w *funcRunner) run(ctx context.Context) {
	defer close(w.done)
	var last result
	var ran *entry
	for {
		e, in := w.step(ran, last)
		if e == nil {
			return
		}
		c := &w.contexts[w.next]
		*c = funcContext{Context: ctx, deadline: w.startedAt.Add(e.limit)}
		last, ran = invoke(c, e.Func, in), e
	}
}

// step merges the result of the function that ran. It returns the function to run next, or nil if
// there is none or the worker was abandoned.
func (w *funcRunner) step(ran *entry, last result) (*entry, Input) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.abandoned {
		return nil, Input{}
	}
	now, began := time.Now(), w.began
	w.startedAt, w.began = now, now
	if clock := w.f.r.o.Clock; clock != nil {
		w.began = clock()
	}
	if ran != nil {
		last.took = w.began.Sub(began)
		w.f.mergeOutcome(ran, last)
		w.next++
	}
	for ; w.next < len(w.list); w.next++ {
		if e := w.list[w.next]; w.f.due(e) {
			return e, w.f.in
		}
	}
	return nil, Input{}
}

// invoke calls a function. A panic becomes an error.
func invoke(ctx context.Context, fn function, in Input) (res result) {
	defer func() {
		if p := recover(); p != nil {
			res = result{err: fmt.Errorf("panicked: %v", p)}
		}
	}()
	out, err := fn(ctx, in)
	return result{RunResult: RunResult{Output: out}, err: err}
}

// ended returns the number of functions that are done. It is called after the goroutine has ended:
// all functions have run, or one called runtime.Goexit.
func (w *funcRunner) ended() int {
	if w.next < len(w.list) {
		return w.giveUp(errors.New("it ended its goroutine"))
	}
	return w.next
}

// giveUp abandons the running function, if there is one, and returns the number of functions that
// are done.
func (w *funcRunner) giveUp(why error) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.abandon(why)
}

func (w *funcRunner) abandon(why error) int {
	if w.next == len(w.list) {
		return w.next
	}
	w.abandoned = true
	w.cancel(why)
	e := w.list[w.next]
	w.f.mergeOutcome(e, result{err: why, took: time.Since(w.startedAt)})
	return w.next + 1
}

// overdue abandons the running function if its time limit has passed. Otherwise it returns the time
// until the next check: the earliest time at which this or a later function could be overdue.
func (w *funcRunner) overdue() (n int, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == len(w.list) {
		return w.next, 0
	}
	e := w.list[w.next]
	if wait = e.limit - time.Since(w.startedAt); wait > 0 {
		return 0, min(wait, minTimeout(w.list[w.next:]))
	}
	return w.abandon(&timeoutError{e.limit}), 0
}

// funcContext is the context of one function: the worker's context with the function's own
// deadline.
type funcContext struct {
	context.Context
	deadline time.Time
}

func (c *funcContext) Deadline() (time.Time, bool) {
	if at, ok := c.Context.Deadline(); ok && at.Before(c.deadline) {
		return at, true
	}
	return c.deadline, true
}

func (c *funcContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}
