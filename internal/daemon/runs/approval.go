package runs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/session"
)

// pendingApproval is an approval request that an agent of a run waits for.
//
//	agent ─ ask ─► pendingApproval
//	  ▲ watches       │ applied
//	run's log ◄─ Decide: approval.Resolve records the answer
type pendingApproval struct {
	approval.Request
	applied chan struct{} // closed when the agent has read the answer or no longer waits
}

// applyTimeout is how long a decision waits at most until its agent has processed it.
const applyTimeout = 5 * time.Second

// askCallback returns the agent's Ask function, as the spec's onAsk says: for deny it is nil, for
// suspend it suspends the run, and for ask it waits for an answer. A recorded run that is continued
// unchanged waits, because its client can answer.
func (m *runAgent) askCallback() func(context.Context, approval.Request) (approval.Answer, error) {
	onAsk := settings.UnattendedPolicy(m.x.opt.Spec.Permissions.Unattended)
	if m.x.opt.same {
		onAsk = settings.UnattendedWait
	}
	switch onAsk {
	case settings.UnattendedDeny:
		return nil
	case settings.UnattendedSuspend:
		return func(_ context.Context, q approval.Request) (approval.Answer, error) {
			m.x.suspend(q.ID)
			return approval.Answer{}, approval.ErrSuspend
		}
	case settings.UnattendedWait:
	}
	return m.ask
}

// ask implements [agent.Permissions].Ask. It registers the approval request; the request stays
// registered until the agent has read the answer from the log.
func (m *runAgent) ask(ctx context.Context, q approval.Request) (approval.Answer, error) {
	x := m.x
	own := &pendingApproval{Request: q, applied: make(chan struct{})}
	x.mu.Lock()
	if ctx.Err() != nil { // the agent has an answer or no longer waits
		x.mu.Unlock()
		return approval.Answer{}, context.Cause(ctx)
	}
	x.approvals[q.ID] = own
	x.mu.Unlock()
	select {
	case <-ctx.Done(): // answered, expired or interrupted: the agent reports which
		return approval.Answer{}, context.Cause(ctx)
	case <-x.r.leave:
		x.suspend(q.ID)
		return approval.Answer{}, approval.ErrSuspend
	}
}

// suspend ends the run while an approval request is still open. The run can be resumed.
func (x *run) suspend(id string) {
	x.approvalClosed(id)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.leaving = true
}

// approvalClosed removes an approval request that no longer waits.
func (x *run) approvalClosed(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if q := x.approvals[id]; q != nil {
		close(q.applied)
		delete(x.approvals, id)
	}
}

// Decide answers an approval request of a run, whether the run is active or not. It records the
// answer before the agent gets it; if the store is unavailable, the answer is rejected and the
// request stays open. It returns the answer that won, which is the first one that was recorded. If
// the run id is empty, Decide finds the request by the request's id. It returns the errors of
// [approval.Resolve] and [approval.Find]. A digest that is not "" must match the request
// ([approval.ErrInvalid]).
func (r *Runs) Decide(ctx context.Context, id string, ans approval.Answer, digest string) (approval.Answer, error) {
	x, q, err := r.findApproval(ctx, id, ans.RequestID)
	if err != nil {
		return approval.Answer{}, r.withAnswer(ctx, id, ans.RequestID, err)
	}
	if digest != "" && digest != q.Digest {
		return approval.Answer{}, errDigest
	}
	won, err := approval.Resolve(ctx, r.o.Sessions, q.Session, ans)
	if err != nil {
		return won, err
	}
	if x != nil {
		x.awaitApplied(ctx, won.RequestID)
	}
	return won, r.relayAnswer(ctx, q.Session)
}

// awaitApplied waits until the agent that requested the approval has read the recorded answer.
func (x *run) awaitApplied(ctx context.Context, id string) {
	x.mu.Lock()
	q := x.approvals[id]
	x.mu.Unlock()
	if q == nil {
		return
	}
	timer := time.NewTimer(applyTimeout)
	defer timer.Stop()
	select {
	case <-q.applied:
	case <-x.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// withAnswer returns the error for an answer to an approval request that is no longer open in a
// run. If it was answered there, the error includes an [*approval.AnsweredError] with the answer.
func (r *Runs) withAnswer(ctx context.Context, run, question string, err error) error {
	if run == "" || !errors.Is(err, approval.ErrNoRequest) {
		return err
	}
	sessions, lerr := r.sessionsOf(ctx, run)
	if lerr != nil {
		return err
	}
	for _, s := range sessions {
		for rec, rerr := range r.o.Sessions.Effective(ctx, s, session.Range{}) {
			if rerr != nil {
				break
			}
			var a approval.Answer
			if rec.Kind == record.KindApprovalResolved && json.Unmarshal(rec.Payload, &a) == nil && a.RequestID == question {
				return errors.Join(err, &approval.AnsweredError{First: a})
			}
		}
	}
	return err
}

// findApproval finds an approval request. It also returns the active run that waits for the answer,
// or nil. If a run id is given, it searches only the requests of that run.
func (r *Runs) findApproval(ctx context.Context, run, id string) (*run, approval.Request, error) {
	if run != "" {
		x := r.lookup(run)
		if x != nil && !x.begun() {
			x = nil
		}
		if q, ok := x.findWaiting(id); ok {
			return x, q, nil
		}
		q, err := r.pending(ctx, run, id)
		return x, q, err
	}
	live := r.activeRuns()
	for _, x := range live {
		if q, ok := x.findWaiting(id); ok {
			return x, q, nil
		}
	}
	q, answer, err := approval.Find(ctx, r.o.Sessions, id)
	if err != nil || answer != nil {
		return nil, q, err
	}
	for _, x := range live {
		if x.hasSession(q.Session) {
			return x, q, nil
		}
	}
	return nil, q, nil
}

// activeRuns lists the active runs.
func (r *Runs) activeRuns() []*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*run
	for _, x := range r.live {
		if x.begun() {
			list = append(list, x)
		}
	}
	return list
}

// findWaiting finds an approval request that an agent of the run waits for. A nil run has none.
func (x *run) findWaiting(id string) (approval.Request, bool) {
	if x == nil {
		return approval.Request{}, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if q := x.approvals[id]; q != nil {
		return q.Request, true
	}
	return approval.Request{}, false
}

var errDigest = errors.Join(errors.New("the digest does not match the approval request that was shown"), approval.ErrInvalid)

// pending finds an open approval request of a run and its agents.
func (r *Runs) pending(ctx context.Context, run, id string) (approval.Request, error) {
	sessions, err := r.sessionsOf(ctx, run)
	if err != nil {
		return approval.Request{}, err
	}
	for _, s := range sessions {
		open, err := approval.Pending(ctx, r.o.Sessions, s)
		if err != nil {
			return approval.Request{}, err
		}
		if i := slices.IndexFunc(open, func(q approval.Request) bool { return q.ID == id }); i >= 0 {
			return open[i], nil
		}
	}
	return approval.Request{}, approval.ErrNoRequest
}

// sessionsOf returns the sessions of a run: its own and those of its agents.
func (r *Runs) sessionsOf(ctx context.Context, run string) ([]string, error) {
	if _, err := r.o.Sessions.Get(ctx, run); errors.Is(err, session.ErrNotFound) {
		return nil, approval.ErrNoRequest
	} else if err != nil {
		return nil, err
	}
	list := []string{run}
	page, err := r.o.Sessions.List(ctx, session.Query{Owner: run, Worktrees: true})
	if err != nil {
		return nil, err
	}
	for _, m := range page.Sessions {
		list = append(list, m.ID)
	}
	return list, nil
}
