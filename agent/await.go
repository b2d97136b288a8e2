package agent

import (
	"context"
	"errors"
	"iter"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Work is [Agent.Run] for a complete piece of work. It waits for background tasks that are awaited
// (see [tool.Detacher]), and lets the agent answer their notifications. All turns end in one
// [event.Result], which is the last event. It has the text of the last turn and the usage and time
// of all turns. The limits of a run apply to all of its turns together.
func (a *Agent) Work(ctx context.Context, input ...transcript.Part) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		defer a.setPrevious(nil)
		for {
			res, ok := a.workTurn(ctx, input, yield)
			if !ok {
				return
			}
			if res.Reason != event.ReasonCompleted {
				yield(*res, nil)
				return
			}
			listening, since := true, a.opt.Clock()
			err := a.await(ctx, func(e event.Event) { listening = listening && yield(e, nil) })
			res.Duration += a.opt.Clock().Sub(since)
			switch {
			case !listening:
				return
			case errors.Is(err, ErrNoInput):
				yield(*res, nil)
				return
			case ctx.Err() != nil:
				res.Reason, res.Err = event.ReasonInterrupted, nil
				yield(*res, nil)
				return
			case err != nil:
				yield(nil, err)
				return
			}
			a.setPrevious(res)
			input = nil
		}
	}
}

// workTurn runs one turn of Work without emitting its result. It returns false if Work must end:
// the listener has stopped, or an error was yielded.
func (a *Agent) workTurn(ctx context.Context, input []transcript.Part, yield func(event.Event, error) bool) (*event.Result, bool) {
	nothing := false
	for e, err := range a.Run(ctx, input...) {
		if nothing = errors.Is(err, ErrNoInput) && len(input) == 0; nothing {
			break
		}
		if err != nil {
			yield(nil, err)
			return nil, false
		}
		if r, ok := e.(event.Result); ok {
			return &r, true
		}
		if !yield(e, nil) {
			return nil, false
		}
	}
	if !nothing {
		return nil, false
	}
	if err := a.Await(ctx); err != nil { // teammates of a resumed session may still send messages
		yield(nil, err)
		return nil, false
	}
	return a.workTurn(ctx, nil, yield)
}

func (a *Agent) setPrevious(res *event.Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.previous = res
}

// Await waits until there is something for the agent to answer: queued input or a notification.
// [Agent.Run] without input reads it. It waits while a [Teammate] or an awaited background task
// (see [tool.Detacher]) works. It returns ErrNoInput if none works and nothing is queued.
func (a *Agent) Await(ctx context.Context) error { return a.await(ctx, nil) }

// await is like Await. If emit is not nil, await also passes the events of background work to it.
func (a *Agent) await(ctx context.Context, emit func(event.Event)) error {
	for {
		teammates, waits := a.opt.Subagents.busy()
		busy, ended := a.opt.Background.busy() // called before the queue is read, because the end of a task is queued before it is reported
		a.mu.Lock()
		queued, closed, more, suspended := len(a.queue) > 0, a.closed, a.more, a.suspendedErr
		a.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case suspended != nil:
			return suspended
		case queued:
			return nil
		case !busy && !teammates:
			return ErrNoInput
		}
		var wake <-chan struct{}
		if emit != nil {
			wake = a.wake
		}
		select {
		case <-ended:
		case <-waits:
		case <-more:
		case <-wake:
			a.emitBetweenTurns(emit)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// emitBetweenTurns emits pending events while no turn runs.
func (a *Agent) emitBetweenTurns(emit func(event.Event)) {
	if !a.running.TryLock() {
		return
	}
	defer a.running.Unlock()
	if a.loop == nil {
		return
	}
	a.loop.emit = emit
	defer a.loop.silence()
	a.loop.emitPending()
	a.loop.emitChanges()
}

// notifyWaiters wakes the calls of Await, which check the agent's state again. The caller holds mu.
func (a *Agent) notifyWaiters() {
	close(a.more)
	a.more = make(chan struct{})
}

// busy reports whether an awaited background task is still running. The channel is closed when a
// task ends.
func (b *Background) busy() (bool, <-chan struct{}) {
	if b == nil {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if w, ok := j.c.tool.(tool.Detacher); ok && j.description.Running && w.Awaited(j.c.call) {
			return true, b.changed
		}
	}
	return false, b.changed
}
