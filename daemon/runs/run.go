package runs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/daemon/strategy"
	"github.com/holdfast-dev/holdfast/daemon/wire"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// state is where a run stands in memory.
type state int

const (
	preparing state = iota // its id is taken, nobody may start it yet
	prepared
	running
	over // its end is on record, or about to be
)

// run is one run from its preparation to its end.
type run struct {
	r        *Runs
	id       string
	mask     *secret.Masker
	opt      PrepareOptions
	strategy *strategy.Strategy
	info     wire.StrategyInfo
	past     *past // nil: a new run

	segment   int
	startedAt time.Time
	requestID string        // of who started it
	resumed   *past         // the segment that was interrupted goes on: what it has done
	done      chan struct{} // closed when the end is on record
	relay     *relay        // nil: there is one agent, in the run's own session
	log       *session.Log  // that keeps the run's session for this process; nil with one agent

	making sync.Mutex // one agent is made at a time

	mu        sync.Mutex
	state     state
	cancel    context.CancelCauseFunc
	stopped   *stopRequest
	members   map[string]*member
	questions map[string]*question
	parked    map[string]chan struct{} // decisions that came before the question was put
	inputs    map[string]*input
	steering  []string
	changes   []policy.Change // for agents that are made later
}

// stopRequest is who wants the end of a run.
type stopRequest struct {
	by        Actor
	requestID string
}

var (
	errStopped  = errors.New("the run was stopped")
	errLeft     = errors.New("the run waits to be continued")
	errDraining = errors.New("the daemon ends")
)

func newRun(r *Runs, id string) *run {
	return &run{
		r: r, id: id, done: make(chan struct{}),
		members: map[string]*member{}, questions: map[string]*question{},
		parked: map[string]chan struct{}{}, inputs: map[string]*input{},
	}
}

func (x *run) begun() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == running || x.state == over
}

// works reports whether a session is the run's, or that of one of its agents.
func (x *run) works(id string) bool {
	if id == x.id {
		return true
	}
	for _, a := range x.strategy.Agents {
		if x.sessionOf(a.Name) == id {
			return true
		}
	}
	return false
}

// sessionOf is the id of an agent's session.
func (x *run) sessionOf(agentName string) string {
	if sole(x.strategy) == agentName {
		return x.id
	}
	return x.id + "." + agentName
}

// Start starts a prepared run; it goes on in the background, and is on record when
// Start returns. START_FAILED.
func (r *Runs) Start(ctx context.Context, id, input, requestID string, by Actor) error {
	x := r.lookup(id)
	if x == nil {
		return refuse(wire.CodeStartFailed, "No prepared run found for runId %s", id)
	}
	return fail(wire.CodeStartFailed, x.start(ctx, input, requestID, by))
}

// Continue goes on with a run that has ended: with an input, or, where it was
// interrupted, with what it was doing. It need not be prepared. CONTINUE_FAILED.
func (r *Runs) Continue(ctx context.Context, id, input, requestID string, by Actor) error {
	x := r.lookup(id)
	if x == nil {
		if _, err := r.o.Sessions.Get(ctx, id); errors.Is(err, session.ErrNotFound) {
			return refuse(wire.CodeContinueFailed, "No run found for runId %s", id)
		}
		var err error
		if x, err = r.prepare(ctx, PrepareOptions{Run: id, By: by}); err != nil {
			return fail(wire.CodeContinueFailed, err)
		}
		if err := x.proceed(ctx, input, requestID, by); err != nil {
			r.forget(x)
			return fail(wire.CodeContinueFailed, err)
		}
		return nil
	}
	return fail(wire.CodeContinueFailed, x.proceed(ctx, input, requestID, by))
}

func (x *run) proceed(ctx context.Context, input, requestID string, by Actor) error {
	if x.begun() {
		return refuse(wire.CodeContinueFailed, "Run %s is running already", x.id)
	}
	switch p := x.past; {
	case p == nil:
		return &Error{Code: wire.CodeContinueFailed, Message: "Run " + x.id + " was never started", Tip: "start_run"}
	case input == "" && (p.status == wire.Completed || p.status == ""):
		return &Error{Code: wire.CodeContinueFailed, Message: "Run " + x.id + " is completed: to go on it needs an input"}
	}
	return x.start(ctx, input, requestID, by)
}

// start begins a segment and returns when it is on record.
func (x *run) start(ctx context.Context, input, requestID string, by Actor) (err error) {
	if err := x.occupy(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			x.retreat()
		}
	}()
	x.segment, x.requestID = 1, requestID
	input, _ = x.mask.Text(input)
	e := wire.RunEvent{
		Event: wire.RunStarted, Status: wire.Running, By: by.Name, Via: by.Via, RequestID: requestID,
		Strategy: &x.info, Input: input,
	}
	var from []wire.Status
	if err := x.refresh(ctx); err != nil {
		return err
	}
	if p := x.past; p != nil {
		from = []wire.Status{p.status}
		x.segment = p.segment + 1
		if p.status == wire.Interrupted && p.segment > 0 {
			x.segment, x.resumed, e.Resumed, e.Input = p.segment, p, true, p.started.Input
			x.steering = append([]string{}, p.steering...)
			if input != "" {
				x.steering = append(x.steering, input)
			}
		}
	}
	e.Segment = x.segment
	if err := x.open(ctx, by); err != nil {
		return err
	}
	if _, err := x.append(ctx, e, from...); err != nil {
		return errors.Join(err, x.close())
	}
	x.startedAt = x.r.o.Clock()
	if x.resumed != nil {
		x.startedAt = x.resumed.begun
	}
	return x.launch(e.Input)
}

// refresh reads again what is on record: it may be long since the run was prepared.
func (x *run) refresh(ctx context.Context) error {
	if x.past == nil {
		return nil
	}
	x.r.relaying.Lock()
	defer x.r.relaying.Unlock()
	p, err := x.r.fold(ctx, x.id)
	if err == nil {
		x.past = p
	}
	return err
}

// occupy takes the run for whoever starts it: one of those who try.
func (x *run) occupy() error {
	if x.r.full() {
		return &Error{Code: wire.CodeStartFailed, Message: "too many runs run at once", Tip: "try again when one has ended"}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch x.state {
	case preparing:
		return refuse(wire.CodeStartFailed, "Run %s is not prepared yet", x.id)
	case running, over:
		return refuse(wire.CodeStartFailed, "Run %s already started", x.id)
	case prepared:
	}
	x.state = running
	return nil
}

func (r *Runs) full() bool { return r.Active() >= r.o.Limit }

// retreat makes a run prepared again that could not be started.
func (x *run) retreat() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state = prepared
}

// launch runs the flow in the background.
func (x *run) launch(input string) error {
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	ctx, cancel := context.WithCancelCause(x.r.root)
	x.mu.Lock()
	x.cancel = cancel
	stopped := x.stopped != nil
	x.mu.Unlock()
	if stopped {
		cancel(errStopped)
	}
	if x.r.draining {
		cancel(errDraining)
	}
	x.r.wg.Go(func() {
		defer cancel(nil)
		out, err := x.strategy.Flow.Run(ctx, input, x.step)
		x.finish(ctx, out, err)
	})
	return nil
}

// open makes sure of the run's session, and that nobody else writes it.
func (x *run) open(ctx context.Context, by Actor) error {
	if name := sole(x.strategy); name != "" {
		m, err := x.member(ctx, name)
		if err != nil {
			return err
		}
		_, err = m.agent.Start(ctx)
		if err != nil {
			return errors.Join(err, x.close())
		}
		return nil
	}
	var err error
	if x.past != nil {
		x.log, err = x.r.o.Sessions.Open(ctx, x.id, nil)
	} else {
		o := session.Opened{SessionID: x.id, CWD: x.opt.Cwd, Title: x.opt.Title, User: by.Name}
		if id, branch, err := session.ProjectID(o.CWD); err == nil { // a folder without one still has runs
			o.Project, o.GitBranch = id, branch
		}
		x.log, err = x.r.o.Sessions.Create(ctx, o)
	}
	if err != nil {
		return err
	}
	x.relay = newRelay(x)
	return nil
}

// finish puts the end of a segment on record: one end, whoever else wants another.
func (x *run) finish(ctx context.Context, out strategy.Output, err error) {
	x.mu.Lock()
	x.state = over
	stop := x.stopped
	x.mu.Unlock()
	left := context.Cause(ctx)
	if cerr := x.close(); cerr != nil {
		x.r.o.Log.Warn("agents of a run did not end well", slog.String("run", x.id), slog.Any("error", cerr))
	}
	info := x.info
	info.Flow, info.Source = nil, nil
	e := wire.RunEvent{
		Segment: x.segment, RequestID: x.requestID, Strategy: &info, StartedAt: &x.startedAt,
		Usage: &out.Usage, Cost: out.Cost,
	}
	switch {
	case stop != nil:
		e.Event, e.Status, e.Code, e.Message = wire.RunCancelled, wire.Cancelled, wire.CodeCancelled, "Run was cancelled"
		e.By, e.Via = stop.by.Name, stop.by.Via
		if stop.requestID != "" {
			e.RequestID = stop.requestID
		}
	case errors.Is(err, errLeft), errors.Is(left, errDraining), err != nil && x.r.root.Err() != nil:
		e.Event, e.Status, e.Code = wire.RunInterrupted, wire.Interrupted, wire.CodeInterrupted
		e.Message = "the daemon ended while it ran"
		if d, ok := errors.AsType[*deferredError](err); ok {
			e.Message = d.Error()
		}
	case err != nil:
		e.Event, e.Status, e.Code, e.Message = wire.RunFailed, wire.Failed, wire.CodeExecution, err.Error()
	default:
		e.Event, e.Status, e.Text = wire.RunCompleted, wire.Completed, out.Text
	}
	if _, err := x.append(ctx, e, wire.Running); err != nil {
		x.r.o.Log.Error("the end of a run is not on record", slog.String("run", x.id), slog.Any("error", err))
	}
	if x.log != nil {
		_ = x.log.Close() // what could be lost is a lease that ends by itself
	}
	x.r.forget(x)
	close(x.done)
}

// close ends the agents and what follows them.
func (x *run) close() error {
	x.mu.Lock()
	members := make([]*member, 0, len(x.members))
	for _, m := range x.members {
		members = append(members, m)
	}
	x.members = map[string]*member{}
	x.mu.Unlock()
	var err error
	worked := make([]string, 0, len(members))
	for _, m := range members {
		worked = append(worked, m.session)
		if cerr := m.agent.Close(); cerr != nil && !errors.Is(cerr, agent.ErrClosed) {
			err = errors.Join(err, cerr)
		}
		m.made.close()
	}
	if x.relay != nil {
		err = errors.Join(err, x.relay.close(worked))
	}
	return err
}

// Stop cancels a run and returns when that is on record. A run that is only prepared
// is forgotten; one that was interrupted is cancelled, and its questions are denied.
// RUN_NOT_FOUND for any other.
func (r *Runs) Stop(ctx context.Context, id, requestID string, by Actor) error {
	x := r.lookup(id)
	if x == nil {
		return r.stopInterrupted(ctx, id, requestID, by)
	}
	x.mu.Lock()
	switch x.state {
	case preparing, prepared:
		x.state = over
		x.mu.Unlock()
		r.forget(x)
		return nil
	case running:
		if x.stopped == nil {
			x.stopped = &stopRequest{by, requestID}
		}
		if x.cancel != nil {
			x.cancel(errStopped)
		}
	case over:
	}
	x.mu.Unlock()
	select {
	case <-x.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
