package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Start starts a prepared run in the background. The start is recorded when Start returns. The
// error is START_FAILED.
func (r *Runs) Start(ctx context.Context, id, input, requestID string, by Actor, images ...transcript.Media) error {
	x := r.lookup(id)
	if x == nil {
		return refuse(wire.CodeStartFailed, "No prepared run found for runId %s", id)
	}
	return withCode(wire.CodeStartFailed, x.start(ctx, input, requestID, by, images))
}

// Continue continues a run that has ended. It continues with an input or, if the run was
// interrupted, with the unfinished work. The run need not be prepared. The error is
// CONTINUE_FAILED.
func (r *Runs) Continue(ctx context.Context, id, input, requestID string, by Actor, images ...transcript.Media) error {
	r.waitEnded(ctx, id)
	x := r.lookup(id)
	if x == nil {
		if _, err := r.o.Sessions.Get(ctx, id); errors.Is(err, session.ErrNotFound) {
			return refuse(wire.CodeContinueFailed, "No run found for runId %s", id)
		}
		var err error
		if x, err = r.prepare(ctx, PrepareOptions{Run: id, Actor: by, same: true}); err != nil {
			return withCode(wire.CodeContinueFailed, err)
		}
		defer x.dropPrepared() // drops the run unless it was started meanwhile
	}
	return withCode(wire.CodeContinueFailed, x.proceed(ctx, input, requestID, by, images))
}

func (x *run) proceed(ctx context.Context, input, requestID string, by Actor, images []transcript.Media) error {
	x.mu.Lock()
	at := x.state
	x.mu.Unlock()
	switch at {
	case preparing: // another caller is preparing the run
		return refuse(wire.CodeContinueFailed, "Run %s is already prepared", x.id)
	case running, endRecorded:
		return refuse(wire.CodeContinueFailed, "Run %s is already running", x.id)
	case prepared:
	}
	switch p := x.past; {
	case p == nil:
		return &Error{Code: wire.CodeContinueFailed, Message: "Run " + x.id + " was never started", Tip: "start_run"}
	case input == "" && len(images)+len(p.steering) == 0 && (p.status == api.StatusCompleted || p.status == ""):
		return &Error{Code: wire.CodeContinueFailed, Message: "Run " + x.id + " is completed; send an input to continue it"}
	}
	return x.start(ctx, input, requestID, by, images)
}

// start begins a segment of the run. It returns when the start of the segment is recorded.
func (x *run) start(ctx context.Context, input, requestID string, by Actor, images []transcript.Media) (err error) {
	if err := x.checkImages(images); err != nil {
		return err
	}
	ctx, done, err := x.claimStart(ctx)
	if err != nil {
		return err
	}
	defer done()
	defer func() {
		if err != nil {
			x.undoStart()
		}
	}()
	defer x.r.recoverPanic(x.id, &err)
	unlock, err := x.r.locks.lock(ctx, steeringLockName(x.id))
	if err != nil {
		return err
	}
	defer unlock()
	input, _ = x.mask.Text(input)
	if err := x.refresh(ctx); err != nil {
		return err
	}
	e := wire.RunEvent{
		Event: wire.RunStarted, Status: api.StatusRunning, By: by.Name, Via: by.Via, RequestID: requestID,
		Strategy: &x.info, Spec: x.recordedSpec(), Input: input, Images: images,
	}
	from := x.completeStart(&e)
	if err := x.open(ctx, by, &e); err != nil {
		return errors.Join(err, x.release())
	}
	if err := x.recordStart(ctx, e, from); err != nil {
		return errors.Join(err, x.release())
	}
	x.launch(e.Input)
	return nil
}

// checkImages returns an error for images that cannot be sent, or that the run cannot take.
func (x *run) checkImages(images []transcript.Media) error {
	if err := inputimage.CheckAll(images); err != nil {
		return err
	}
	if len(images) > 0 && (soleAgent(x.strategy) == "" || !x.strategy.Flow.SingleStep()) {
		return outcome.Invalid("the strategy passes only text to its agents, so the run takes no images", "name the file in the text, or send the image while an agent works")
	}
	return nil
}

// recordStart records the start and the policy changes that precede it.
func (x *run) recordStart(ctx context.Context, e wire.RunEvent, from []api.RunStatus) error {
	made, err := x.r.locks.lock(ctx, x.agentLockName())
	if err != nil {
		return err
	}
	defer made()
	changes, err := x.applyEarlyChanges(ctx)
	if err != nil {
		return err
	}
	e.Changes = changes
	if _, err := x.append(ctx, e, from...); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.changes, x.startedAt = changes, x.r.o.Clock()
	if x.resumed != nil {
		x.startedAt = x.resumed.begun
	}
	return nil
}

// completeStart completes the start of a segment with data from the run's history. It returns the recorded
// statuses from which the segment may start.
func (x *run) completeStart(e *wire.RunEvent) (from []api.RunStatus) {
	x.segment, x.requestID, x.resumed, x.images = 1, e.RequestID, nil, e.Images
	if p := x.past; p != nil {
		from = []api.RunStatus{p.status}
		x.segment = p.segment + 1
		x.steering = slices.Clone(p.steering)
		if p.status == api.StatusInterrupted && p.segment > 0 {
			if e.Input != "" || len(e.Images) > 0 {
				s := steering{id: x.r.o.Sessions.NewID(), text: e.Input, images: e.Images}
				x.steering, e.Steering, e.Text = append(x.steering, s), []string{s.id}, s.text
			}
			x.segment, x.resumed, e.Resumed, e.Input = p.segment, p, true, p.started.Input
			x.images = p.images
		} else {
			for i := range x.steering {
				x.steering[i].older = true
			}
		}
	}
	e.Segment = x.segment
	return from
}

// refresh reads the records again if there are new ones, because the run may have been prepared
// long ago.
func (x *run) refresh(ctx context.Context) error {
	relayed, err := x.r.locks.lockForRequest(ctx, relayLockName(x.id))
	if err != nil {
		return err
	}
	defer relayed()
	m, err := x.r.o.Sessions.Get(ctx, x.id)
	switch {
	case x.past == nil && errors.Is(err, session.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if api.RunStatus(m.Run) == api.StatusRunning {
		held, err := x.r.markIfLost(ctx, m)
		if err != nil {
			return err
		}
		if held != nil && x.opt.Spec.Session.Takeover {
			if err := x.r.interrupt(ctx, m); err != nil && !errors.Is(err, runlog.ErrChanged) {
				return err
			}
		} else if held != nil {
			return refuse(wire.CodeStartFailed, "Run %s is already running in process %d on %s", x.id, held.Holder.PID, held.Holder.Host)
		}
		if m, err = x.r.o.Sessions.Get(ctx, x.id); err != nil {
			return err
		}
	}
	if x.past != nil && x.past.head == m.Head {
		return nil
	}
	p, err := x.r.readHistory(ctx, x.id)
	switch {
	case err != nil:
		return err
	case x.past == nil && p.segment > 0:
		return refuse(wire.CodeStartFailed, "Run %s was started by another program meanwhile", x.id)
	}
	x.past = p
	return nil
}

// claimStart reserves the run for one of the callers that start it. If the run is stopped, the
// context is canceled. The caller calls done to release the context.
func (x *run) claimStart(ctx context.Context) (starting context.Context, done func(), err error) {
	r := x.r
	r.mu.Lock()
	defer r.mu.Unlock()
	active := 0
	for _, y := range r.live {
		if y != x && y.begun() {
			active++
		}
	}
	switch {
	case r.draining:
		return nil, nil, draining(wire.CodeStartFailed)
	case active >= r.o.Limit:
		return nil, nil, &Error{Code: wire.CodeStartFailed, Message: "too many running runs", Tip: "try again when one has ended"}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch x.state {
	case preparing:
		return nil, nil, refuse(wire.CodeStartFailed, "Run %s is not prepared yet", x.id)
	case running, endRecorded:
		return nil, nil, refuse(wire.CodeStartFailed, "Run %s already started", x.id)
	case prepared:
	}
	ctx, cancel := context.WithCancelCause(ctx)
	x.state, x.cancel = running, cancel
	r.wg.Add(1) // Drain also waits for a run that is starting
	return ctx, func() { cancel(nil) }, nil
}

// undoStart returns a run that could not be started to the prepared state. If the run was stopped
// meanwhile, undoStart forgets it.
func (x *run) undoStart() {
	x.mu.Lock()
	stopped := x.stopped != nil
	x.state, x.cancel = prepared, nil
	if stopped {
		x.state = endRecorded
	}
	x.mu.Unlock()
	if stopped {
		x.r.forget(x)
		close(x.done)
	}
	x.r.wg.Done()
}

// dropPrepared forgets a run that is only prepared. It reports whether the run was only prepared.
func (x *run) dropPrepared() bool {
	x.mu.Lock()
	is := x.state == preparing || x.state == prepared
	if is {
		x.state = endRecorded
	}
	x.mu.Unlock()
	if is {
		x.r.forget(x)
		close(x.done)
	}
	return is
}

// launch runs the flow in the background.
func (x *run) launch(input string) {
	ctx, cancel := context.WithCancelCause(x.r.root)
	x.r.mu.Lock()
	ending := x.r.draining
	x.mu.Lock()
	x.cancel = cancel
	stopped := x.stopped != nil
	x.mu.Unlock()
	x.r.mu.Unlock()
	switch {
	case stopped:
		cancel(errStopped)
	case ending:
		cancel(errDraining)
	}
	go func() {
		defer x.r.wg.Done()
		defer cancel(nil)
		out, err := x.flow(ctx, input)
		x.finish(ctx, out, err)
	}()
}

func (x *run) flow(ctx context.Context, input string) (out strategy.Output, err error) {
	defer x.r.recoverPanic(x.id, &err)
	return x.strategy.Flow.Run(ctx, input, x.step)
}

// open opens the session of the run and acquires its lease. If the run has only one agent, the
// event of the opening becomes part of the start record.
func (x *run) open(ctx context.Context, by Actor, e *wire.RunEvent) error {
	if name := soleAgent(x.strategy); name != "" {
		m, err := x.ensureAgent(ctx, name)
		if err != nil {
			return err
		}
		opened, err := m.agent.Start(ctx)
		if err != nil {
			return err
		}
		e.Opened, err = event.Marshal(opened)
		return err
	}
	var err error
	if x.past != nil {
		x.log, err = x.r.o.Sessions.Open(ctx, x.id, nil)
	} else {
		o := session.Opened{SessionID: x.id, CWD: x.opt.Spec.Cwd, Title: cmp.Or(x.opt.Spec.Session.Title, x.strategy.Name), User: by.Name}
		if id, branch, err := project.ID(o.CWD); err == nil { // a folder without an id can have runs, too
			o.Project, o.GitBranch = id, branch
		}
		x.log, err = x.r.o.Sessions.Create(ctx, o)
	}
	if err == nil && x.opt.Spec.Workspace == "" { // in a workspace each agent is a separate process
		x.shared, err = agent.NewRun(ctx, x.log)
	}
	if err != nil {
		return err
	}
	l := newRelay(x)
	l.syncAll(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.relay = l
	return nil
}

// release closes what a failed start has opened.
func (x *run) release() error {
	err := x.close(false)
	if x.log != nil {
		err = errors.Join(err, x.log.Close())
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.log, x.shared, x.relay, x.subagents, x.closed = nil, nil, nil, nil, false
	return err
}
