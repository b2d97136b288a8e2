package runs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/session"
)

// Recover marks the runs of a stopped daemon as interrupted and returns their ids. With
// Options.Resume it resumes all interrupted runs; a run that cannot be resumed stays interrupted.
// Call it once, before clients are served.
func (r *Runs) Recover(ctx context.Context) (interrupted []string, err error) {
	left, err := r.sessionsWith(ctx, api.StatusRunning)
	if err != nil {
		return nil, err
	}
	for _, m := range left {
		held, err := r.markIfLost(ctx, m)
		switch {
		case err != nil: // the other runs can still be resumed
			r.o.Log.Error("cannot mark a run as interrupted", slog.String("run", m.ID), slog.Any("error", err))
		case held == nil: // otherwise a daemon with another home runs it
			interrupted = append(interrupted, m.ID)
		}
	}
	if !r.o.Resume {
		return interrupted, nil
	}
	again, err := r.sessionsWith(ctx, api.StatusInterrupted)
	for _, m := range again {
		if err := r.Continue(ctx, m.ID, "", "", Actor{Name: "daemon", Via: "daemon"}); err != nil {
			r.o.Log.Warn("cannot resume an interrupted run", slog.String("run", m.ID), slog.Any("error", err))
		}
	}
	return interrupted, err
}

// sessionsWith lists the sessions whose run has this status.
func (r *Runs) sessionsWith(ctx context.Context, s api.RunStatus) ([]session.Meta, error) {
	var list []session.Meta
	q := session.Query{Run: string(s), Limit: 500}
	for {
		page, err := r.o.Sessions.List(ctx, q)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Sessions...)
		if q.After = page.Next; q.After == "" {
			return list, nil
		}
	}
}

const lostMessage = "the daemon stopped during the run"

// markIfLost marks a run as interrupted if its recorded status is running but no process runs it: its
// daemon stopped, or could not record the end. If a process holds the lease, adopt returns that
// lease and does nothing.
func (r *Runs) markIfLost(ctx context.Context, m session.Meta) (held *session.Lease, err error) {
	if held, err = r.o.Sessions.Lease(ctx, m.ID); err != nil || held != nil {
		return held, err
	}
	if err := r.interrupt(ctx, m); !errors.Is(err, runlog.ErrChanged) {
		return nil, err
	}
	return nil, nil // another process did
}

// isLost reports whether no process runs a run whose recorded status is running. The run must not
// be in memory. It reads the record again, because the record may have changed.
func (r *Runs) isLost(ctx context.Context, m *session.Meta) (bool, error) {
	now, err := r.o.Sessions.Get(ctx, m.ID)
	if err != nil {
		return false, err
	}
	if *m = now; api.RunStatus(m.Run) != api.StatusRunning {
		return false, nil
	}
	held, err := r.o.Sessions.Lease(ctx, m.ID)
	return held == nil, err
}

// interrupt records that a run has ended because its daemon stopped. Before that, it relays the
// records of the run's agents.
func (r *Runs) interrupt(ctx context.Context, m session.Meta) error {
	p, err := r.readHistory(ctx, m.ID)
	if err != nil {
		return err
	}
	if err := r.relayRemaining(ctx, m.ID, p); err != nil {
		return err
	}
	e := wire.RunEvent{
		Event: wire.RunInterrupted, Status: api.StatusInterrupted, Segment: p.segment, By: "daemon",
		Code: wire.CodeInterrupted, Message: r.lostReason(m.ID), StartedAt: &p.begun,
	}
	if p.started != nil {
		e.RequestID = p.started.RequestID
		if s := p.started.Strategy; s != nil {
			info := *s
			info.Flow, info.Source = nil, nil
			e.Strategy = &info
		}
	}
	if _, err = r.append(ctx, m.ID, e, api.StatusRunning); err == nil {
		r.dropReason(m.ID)
	}
	return err
}

// stopInterrupted cancels an interrupted run.
func (r *Runs) stopInterrupted(ctx context.Context, id, requestID string, by Actor) error {
	m, err := r.o.Sessions.Get(ctx, id)
	if err == nil && api.RunStatus(m.Run) == api.StatusRunning {
		if _, err := r.markIfLost(ctx, m); err != nil {
			return err
		}
		m, err = r.o.Sessions.Get(ctx, id)
	}
	if err != nil || api.RunStatus(m.Run) != api.StatusInterrupted {
		if err == nil || errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrInvalidID) {
			return notFound(id)
		}
		return err
	}
	e := wire.RunEvent{
		Event: wire.RunCancelled, Status: api.StatusCancelled, Code: wire.CodeCancelled, Message: "Run was cancelled",
		By: by.Name, Via: by.Via, RequestID: requestID,
	}
	if last, err := r.latestEvent(ctx, m); err == nil && last != nil {
		e.Segment, e.Strategy, e.StartedAt = last.Segment, last.Strategy, last.StartedAt
	}
	if _, err := r.append(ctx, id, e, api.StatusInterrupted); errors.Is(err, runlog.ErrChanged) {
		if r.lookup(id) != nil { // it is being resumed
			return r.Stop(ctx, id, requestID, by)
		}
		return notFound(id)
	} else if err != nil {
		return err
	}
	_, err = r.denyOpen(ctx, id, by, "the run was stopped")
	return err
}

// denyOpen denies the open approval requests of a run's agents, because these agents no longer
// wait. It returns the sessions that had open requests.
func (r *Runs) denyOpen(ctx context.Context, run string, by Actor, why string) (denied []string, err error) {
	sessions, err := r.sessionsOf(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		open, err := approval.Pending(ctx, r.o.Sessions, s)
		if err != nil {
			return denied, err
		}
		if len(open) > 0 {
			denied = append(denied, s)
		}
		for _, q := range open {
			_, err := approval.Resolve(ctx, r.o.Sessions, s, approval.Answer{
				RequestID: q.ID, Decision: approval.Deny, Message: "approval cancelled: " + why, Actor: by.Name, Via: by.Via,
			})
			if err == nil {
				err = r.relayAnswer(ctx, s)
			}
			if err != nil && !errors.Is(err, approval.ErrAnswered) {
				return denied, err
			}
		}
	}
	return denied, nil
}

// Drain rejects new runs, and leaves open approval requests open. It returns when every run has
// ended or has reached a state in which it can be continued. If ctx ends first, the runs that are
// still working are interrupted.
func (r *Runs) Drain(ctx context.Context) error {
	r.mu.Lock()
	if !r.draining {
		r.draining = true
		close(r.leave)
	}
	r.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		r.interruptWorking(ended)
	}
	r.stop()
	<-ended
	return nil
}

// isWaiting reports whether a run waits for an answer.
func (x *run) isWaiting() bool {
	for _, m := range x.existingAgents() {
		if len(m.agent.Snapshot().Approvals) > 0 {
			return true
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.leaving || len(x.approvals)+len(x.inputs) > 0
}

// interruptWorking interrupts the runs that are working. Runs that wait for answers end without it, and their
// requests stay open.
func (r *Runs) interruptWorking(ended <-chan struct{}) {
	for _, x := range r.activeRuns() {
		if !x.isWaiting() {
			x.mu.Lock()
			if x.cancel != nil {
				x.cancel(errDraining)
			}
			x.mu.Unlock()
		}
	}
	leaving := time.NewTimer(applyTimeout)
	defer leaving.Stop()
	select {
	case <-ended:
	case <-leaving.C:
	}
}

// Close is Drain without waiting. Calling it twice has no effect.
func (r *Runs) Close() error {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return r.Drain(ctx)
}
