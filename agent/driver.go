package agent

import (
	"context"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/transcript"
)

// DriverState is where the loop stands, and so why [Driver.Next] returned.
type DriverState struct {
	Turn          string
	Result        *event.Result      // not nil: the turn is over
	Approvals     []approval.Request // not empty: answer them with [Driver.Resolve]
	AwaitingInput bool               // there is nothing to do until [Driver.Submit]
}

// AfterToolResult reports whether a round of tools is done: the next call of [Driver.Next]
// goes on.
func (s DriverState) AfterToolResult() bool {
	return s.Result == nil && len(s.Approvals) == 0 && !s.AwaitingInput
}

// Driver steps an agent's loop for a host that wants to decide when it goes on.
// Its methods are for one goroutine at a time.
type Driver struct {
	a    *Agent
	emit func(event.Event)
}

// Driver returns a driver. emit is called with every event on the goroutine of
// Next; nil is fine. Do not mix it with Run while a turn is open.
func (a *Agent) Driver(emit func(event.Event)) *Driver {
	if emit == nil {
		emit = func(event.Event) {}
	}
	return &Driver{a: a, emit: emit}
}

// Submit queues input; Next takes it in. ErrApprovalPending while a question waits.
func (d *Driver) Submit(ctx context.Context, input ...transcript.Part) error {
	return d.a.Submit(ctx, input...)
}

// Resolve answers a question that Next returned. Errors: [approval.ErrNoRequest]
// when it does not wait, [approval.ErrInvalid], and an *[approval.AnsweredError]
// when somebody else was faster and said something else, which counts.
func (d *Driver) Resolve(ctx context.Context, id string, ans approval.Answer) error {
	if !d.a.running.TryLock() {
		return ErrRunning
	}
	defer d.a.running.Unlock()
	if d.a.loop == nil {
		return approval.ErrNoRequest
	}
	d.a.loop.emit = d.emit
	defer d.a.loop.silence()
	return d.a.loop.resolve(ctx, id, &ans)
}

// Next goes on until there is something to decide or to tell. Calling it again
// with a question unanswered returns the same question. The error is for what
// stops the agent; a failed model call ends in a Step with a Result.
func (d *Driver) Next(ctx context.Context) (DriverState, error) {
	if !d.a.running.TryLock() {
		return DriverState{}, ErrRunning
	}
	defer d.a.running.Unlock()
	l, err := d.a.start(ctx, d.emit)
	if err != nil {
		return DriverState{}, err
	}
	d.a.resumeSuspended()
	l.emit, l.alone = d.emit, false
	defer l.silence()
	return l.next(ctx)
}

// Snapshot is [Agent.Snapshot].
func (d *Driver) Snapshot() Snapshot { return d.a.Snapshot() }
