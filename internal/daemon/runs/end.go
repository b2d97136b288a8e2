package runs

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// storeFailedPrefix begins the reason of a run that ended because its work could not be recorded.
const storeFailedPrefix = "the store was unreachable for too long: "

// finish records the end of a segment. A segment has exactly one end, even if several requests try
// to end it.
func (x *run) finish(ctx context.Context, out strategy.Output, err error) {
	if made, err := x.r.locks.lock(context.Background(), x.agentLockName()); err == nil { // a policy change either comes before the end, or finds no run
		defer made()
	}
	x.mu.Lock()
	x.state = endRecorded
	stop := x.stopped
	x.mu.Unlock()
	e := x.endEvent(context.Cause(ctx), stop, out, err)
	e.Result = x.result(e.Text)
	sessions, cerr := x.closeAgents(e.Status == api.StatusInterrupted, e.Status == api.StatusCompleted)
	if e.Status != api.StatusInterrupted {
		orphans, err := x.r.denyOpen(context.WithoutCancel(ctx), x.id, Actor{Name: "nobody", Via: "daemon"}, "the run has ended")
		sessions, cerr = append(sessions, orphans...), errors.Join(cerr, err)
	}
	if cerr = errors.Join(cerr, x.closeRelay(sessions)); cerr != nil {
		x.r.o.Log.Warn("agents of a run ended with an error", slog.String("run", x.id), slog.Any("error", cerr))
	}
	if _, err := x.append(ctx, e, api.StatusRunning); err != nil { // the run then has the status interrupted, see adopt
		x.r.o.Log.Error("cannot record the end of a run", slog.String("run", x.id), slog.Any("error", err))
		if retry.IsUnavailable(err) {
			why, _ := x.mask.Text(storeFailedPrefix + err.Error())
			x.r.storeReason(x.id, why)
		}
	}
	if x.log != nil {
		_ = x.log.Close() // only a lease may be left over, and it expires
	}
	x.r.forget(x)
	close(x.done)
}

// waitEnded waits until a run that has ended is no longer in memory. A client that reads the run's log
// sees the end slightly earlier, and may continue the run at once.
func (r *Runs) waitEnded(ctx context.Context, id string) {
	x := r.lookup(id)
	if x == nil {
		return
	}
	x.mu.Lock()
	ends := x.state == endRecorded || x.sealed
	x.mu.Unlock()
	if !ends {
		return
	}
	select {
	case <-x.done:
	case <-ctx.Done():
	}
}

// endEvent returns the event that ends the segment.
func (x *run) endEvent(left error, stop *stopRequest, out strategy.Output, err error) wire.RunEvent {
	info := x.info
	info.Flow, info.Source = nil, nil
	e := wire.RunEvent{
		Segment: x.segment, RequestID: x.requestID, Strategy: &info, StartedAt: &x.startedAt,
		Usage: &out.Usage, Cost: out.Cost,
	}
	switch {
	case stop != nil:
		e.Event, e.Status, e.Code, e.Message = wire.RunCancelled, api.StatusCancelled, wire.CodeCancelled, "Run was cancelled"
		e.By, e.Via = stop.by.Name, stop.by.Via
		if stop.requestID != "" {
			e.RequestID = stop.requestID
		}
	case retry.IsUnavailable(err): // the run can be continued from this state
		e.Event, e.Status, e.Code = wire.RunInterrupted, api.StatusInterrupted, wire.CodeInterrupted
		e.Message = storeFailedPrefix + err.Error()
	case err != nil && (errors.Is(err, errSuspended) || errors.Is(left, errDraining) || x.r.root.Err() != nil):
		e.Event, e.Status, e.Code = wire.RunInterrupted, api.StatusInterrupted, wire.CodeInterrupted
		e.Message = lostMessage
		if s := settings.UnattendedPolicy(x.opt.Spec.Permissions.Unattended); s == settings.UnattendedSuspend && !errors.Is(left, errDraining) {
			e.Message = "an approval was not answered: permissions.on_ask is " + string(s)
		}
		if d, ok := errors.AsType[*deferredError](err); ok {
			e.Message = d.Error()
		}
	case err != nil:
		e.Event, e.Status, e.Code, e.Message = wire.RunFailed, api.StatusFailed, wire.CodeExecution, err.Error()
	default:
		e.Event, e.Status, e.Text = wire.RunCompleted, api.StatusCompleted, out.Text
	}
	return e
}

// result returns the last result of the run's only agent as JSON. If there is none, it returns nil.
// It omits the text, because the record already contains it.
func (x *run) result(text string) wire.Raw {
	x.mu.Lock()
	m := x.agents[soleAgent(x.strategy)]
	x.mu.Unlock()
	if m == nil || m.result == nil {
		return nil
	}
	r := *m.result
	if r.Text == text {
		r.Text = ""
	}
	form, err := event.Marshal(outcome.Explain(r))
	if err != nil { // the records still contain the numbers of the result
		x.r.o.Log.Warn("cannot encode the result of a run", slog.String("run", x.id), slog.Any("error", err))
		return nil
	}
	return form
}

// close closes the agents and the relay.
func (x *run) close(resumable bool) error {
	sessions, err := x.closeAgents(resumable, false)
	return errors.Join(err, x.closeRelay(sessions))
}

// closeAgents closes the agents and returns their sessions. If the run is resumable, its session
// grants stay in force. completed reports whether the run did its whole task.
func (x *run) closeAgents(resumable, completed bool) (sessions []string, err error) {
	x.mu.Lock()
	members := make([]*runAgent, 0, len(x.agents))
	for _, m := range x.agents {
		members = append(members, m)
	}
	x.agents = map[string]*runAgent{}
	x.mu.Unlock()
	for _, m := range members {
		sessions = append(sessions, m.session)
		err = errors.Join(err, m.close(resumable, completed))
	}
	return sessions, err
}

// closeRelay relays to the run's log the records of these sessions that it does not have yet, and
// stops the relay.
func (x *run) closeRelay(sessions []string) error {
	x.mu.Lock()
	if slices.ContainsFunc(sessions, func(id string) bool { return id != x.id }) {
		x.subagentRelay()
	}
	x.closed = true
	x.mu.Unlock()
	l := x.currentRelay()
	if l == nil {
		return nil
	}
	return l.close(sessions)
}

func (m *runAgent) close(resumable, completed bool) (err error) {
	defer m.x.r.recoverPanic(m.x.id, &err)
	defer m.made.close()
	if m.made.BeforeClose != nil {
		m.made.BeforeClose(completed)
	}
	if resumable {
		err = m.agent.Suspend()
	} else {
		err = m.agent.Close()
	}
	if errors.Is(err, agent.ErrClosed) {
		return nil
	}
	return err
}

// Stop cancels a run and returns when the end is recorded. A run that is only prepared is
// forgotten. If the run is interrupted, it is cancelled and its approval requests are denied. For
// any other run, the error is RUN_NOT_FOUND.
func (r *Runs) Stop(ctx context.Context, id, requestID string, by Actor) error {
	x := r.lookup(id)
	if x == nil {
		return r.stopInterrupted(ctx, id, requestID, by)
	}
	if x.dropPrepared() {
		return nil
	}
	x.mu.Lock()
	if x.state == running && x.stopped == nil {
		x.stopped = &stopRequest{by, requestID}
	}
	if x.state == running && x.cancel != nil { // this includes a run that is starting
		x.cancel(errStopped)
	}
	x.mu.Unlock()
	select {
	case <-x.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
