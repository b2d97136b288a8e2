package holdfast

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Run is an agent that works in a session. Its methods are safe for concurrent use.
type Run struct {
	rt    *Runtime
	id    string
	agent *compose.Agent // nil if another process runs the session

	mu          sync.Mutex
	turnRunning bool
	idle        chan struct{} // closed while the agent does not work; replaced when it works again
	result      *event.Result // of the last turn
	err         error         // the error that stopped the last turn
	stopped     bool

	close  sync.Once
	closed error // what closing the agent returned
}

// ID returns the id of the run's session.
func (r *Run) ID() string { return r.id }

// work runs turns until there is no more input.
func (r *Run) work(input []transcript.Part) {
	for {
		result, err := r.turn(input)
		input = nil
		if err == nil && len(r.agent.Snapshot().Pending) > 0 {
			continue // input was sent while the turn ended
		}
		r.mu.Lock()
		r.result, r.err, r.turnRunning = result, err, false
		close(r.idle)
		r.mu.Unlock()
		r.publish(nil) // ends the streams of [Run.Events]
		if err != nil || len(r.agent.Snapshot().Pending) == 0 || !r.tryStartTurn() {
			return
		}
	}
}

// turn runs one turn and publishes its events.
func (r *Run) turn(input []transcript.Part) (result *event.Result, err error) {
	for e, err := range r.agent.Run(r.rt.ctx, input...) {
		if err != nil {
			return result, err
		}
		if res, ok := e.(event.Result); ok {
			result = &res
		}
		if event.Provisional(e) {
			r.publish(e)
		}
	}
	return result, nil
}

// tryStartTurn claims the run for a turn. It returns false if a turn is running or the run was
// stopped.
func (r *Run) tryStartTurn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turnRunning || r.stopped {
		return false
	}
	r.turnRunning, r.idle = true, make(chan struct{})
	return true
}

func (r *Run) publish(e event.Event) { r.rt.parts.Hub.Publish(r.id, "", e) }

// Send gives the run more input. The input is durable when Send returns. It reaches the next model
// request of a running turn, or starts the next turn. Send returns agent.ErrApprovalPending while
// an approval request waits, an *event.Error if a hook blocks the input, and [ErrClosed].
func (r *Run) Send(ctx context.Context, input ...transcript.Part) error {
	if err := r.requireLocal("send to"); err != nil {
		return err
	}
	if err := r.agent.Submit(ctx, input...); err != nil {
		if errors.Is(err, agent.ErrClosed) {
			return ErrClosed
		}
		return err
	}
	if r.tryStartTurn() {
		go r.work(nil)
	}
	return nil
}

// requireLocal returns an error unless this process runs the session.
func (r *Run) requireLocal(what string) error {
	if r.agent != nil {
		return nil
	}
	return outcome.Invalid("cannot "+what+" run "+r.id+": another process runs it, or none does", "resume it with Runtime.Resume when no other process runs it")
}

// Answer answers the approval request with this id, and returns the answer that is recorded. If
// a.Actor is empty, it becomes the account of this process. The errors are those of
// [approval.Resolve].
func (r *Run) Answer(ctx context.Context, question string, a approval.Answer) (approval.Answer, error) {
	a.RequestID = question
	if a.Actor == "" {
		a.Actor = env.Account()
	}
	if a.Via == "" {
		a.Via = "library"
	}
	return approval.Resolve(ctx, r.rt.Sessions(), r.id, a)
}

// Change changes the policy of the run: for example, its mode or a grant. The change applies to the
// next decision. Change returns the recorded change.
func (r *Run) Change(ctx context.Context, c policy.Change) (policy.Change, error) {
	if c.By == "" {
		c.By = env.Account()
	}
	if r.agent != nil {
		return r.agent.Change(ctx, c)
	}
	return sessionpolicy.Change(ctx, r.rt.Sessions(), r.id, func(*policy.Guards) (policy.Change, error) { return c, nil })
}

// Interrupt ends the running turn. A partial answer is kept, and every open tool call gets a
// result. The run stays open for [Run.Send].
func (r *Run) Interrupt(context.Context) error {
	if err := r.requireLocal("interrupt"); err != nil {
		return err
	}
	r.agent.Interrupt()
	return nil
}

// Wait waits until no turn runs and returns the result of the last turn. The error of a failed
// model call is in Result.Err. Wait returns the error that stopped the run: an error of the store,
// approval.ErrSuspend if an approval request was left open, or agent.ErrNoInput. It returns the
// cause of ctx if ctx ends first.
func (r *Run) Wait(ctx context.Context) (*event.Result, error) {
	if err := r.requireLocal("wait for"); err != nil {
		return nil, err
	}
	for {
		r.mu.Lock()
		working, idle, result, err := r.turnRunning, r.idle, r.result, r.err
		r.mu.Unlock()
		if !working {
			return result, err
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Stop interrupts and closes the run. When Stop returns without an error, other processes can use
// the session. The worktree of the run is removed if nothing would be lost. If ctx ends before the
// run does, the run stays open and Stop can be called again. After a complete Stop, another one
// does nothing.
func (r *Run) Stop(ctx context.Context) error {
	if err := r.requireLocal("stop"); err != nil {
		return err
	}
	r.mu.Lock()
	r.stopped = true // no new turn
	r.mu.Unlock()
	r.agent.Interrupt()
	if _, _ = r.Wait(ctx); ctx.Err() != nil {
		return fmt.Errorf("stop run %s: %w", r.id, context.Cause(ctx))
	}
	r.close.Do(func() { r.closed = r.closeAgent(ctx) })
	return r.closed
}

func (r *Run) closeAgent(ctx context.Context) error {
	r.mu.Lock()
	completed := r.result != nil && r.result.Reason == event.ReasonCompleted
	r.mu.Unlock()
	if left := r.agent.LeaveWorktree(ctx, !completed); left.Text != "" {
		r.rt.parts.Env.Warn("%s", left.Text)
	}
	err := r.agent.Close()
	r.rt.mu.Lock()
	delete(r.rt.runs, r.id)
	r.rt.mu.Unlock()
	return err
}
