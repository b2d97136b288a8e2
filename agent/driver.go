package agent

import (
	"context"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/transcript"
)

// DriverState is the state of the loop when [Driver.Next] returned.
type DriverState struct {
	Turn          string
	Result        *event.Result      // not nil when the turn is over
	Approvals     []approval.Request // open approval requests; answer them with [Driver.Resolve]
	AwaitingInput bool               // the agent waits for [Driver.Submit]
}

// AfterToolResult reports whether a tool round is done. The next call of [Driver.Next] continues.
func (s DriverState) AfterToolResult() bool {
	return s.Result == nil && len(s.Approvals) == 0 && !s.AwaitingInput
}

// Driver runs an agent's loop step by step, for a host that decides when it continues. Only one
// goroutine at a time may call its methods.
type Driver struct {
	a    *Agent
	emit func(event.Event)
}

// Driver returns a driver. emit, if not nil, is called with every event on the goroutine of Next.
// Do not use Run while a turn of the driver is open.
func (a *Agent) Driver(emit func(event.Event)) *Driver {
	if emit == nil {
		emit = func(event.Event) {}
	}
	return &Driver{a: a, emit: emit}
}

// Submit queues input, which Next reads. It returns ErrApprovalPending while an approval request
// waits.
func (d *Driver) Submit(ctx context.Context, input ...transcript.Part) error {
	return d.a.Submit(ctx, input...)
}

// Resolve answers an approval request that Next returned. It returns [approval.ErrNoRequest] if the
// request is not waiting, and [approval.ErrInvalid]. If another program gave a different answer
// first, that answer applies, and it returns an *[approval.AnsweredError].
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

// Next runs the loop until the host must decide or the turn ends. If an approval request is still
// open, it returns the same one again. Next returns an error only if a failure stops the agent;
// after a failed model call the DriverState has a Result.
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
