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

// question is a question that an agent of a run waits with.
//
//	agent ─ ask ─► question
//	  ▲ watches       │ settled
//	run's log ◄─ Decide: approval.Resolve puts the answer on record
type question struct {
	approval.Request
	settled chan struct{} // closed once the agent has taken the answer, or has gone
}

// settling bounds how long a decision waits for the agent that it is for.
const settling = 5 * time.Second

// asker is who answers the questions of the run: people, unless its spec says that nobody is there.
// Who continues the run as it is on record is there.
func (m *runAgent) asker() func(context.Context, approval.Request) (approval.Answer, error) {
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

// ask is [agent.Permissions].Ask: it keeps the question until the agent has found the answer in
// the log.
func (m *runAgent) ask(ctx context.Context, q approval.Request) (approval.Answer, error) {
	x := m.x
	own := &question{Request: q, settled: make(chan struct{})}
	x.mu.Lock()
	if ctx.Err() != nil { // the agent has an answer, or waits no more
		x.mu.Unlock()
		return approval.Answer{}, context.Cause(ctx)
	}
	x.questions[q.ID] = own
	x.mu.Unlock()
	select {
	case <-ctx.Done(): // answered, time is up, or interrupted: the agent will say
		return approval.Answer{}, context.Cause(ctx)
	case <-x.r.leave:
		x.suspend(q.ID)
		return approval.Answer{}, approval.ErrSuspend
	}
}

// suspend is gone for a question that is left open: the run ends, and can be gone on with.
func (x *run) suspend(id string) {
	x.questionClosed(id)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.leaving = true
}

// questionClosed says that a question does not wait here any more.
func (x *run) questionClosed(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if q := x.questions[id]; q != nil {
		close(q.settled)
		delete(x.questions, id)
	}
}

// Decide answers a question of a run, whether that runs or not, and returns the answer
// that counts. It is on record first, whoever asked; so while the store is away the answer
// is refused, and the question stays. With no run it finds the question by its id. Errors
// are those of [approval.Resolve] and [approval.Find]; a digest that is not "" must be that
// of the question ([approval.ErrInvalid]).
func (r *Runs) Decide(ctx context.Context, id string, ans approval.Answer, digest string) (approval.Answer, error) {
	x, q, err := r.asked(ctx, id, ans.RequestID)
	if err != nil {
		return approval.Answer{}, r.late(ctx, id, ans.RequestID, err)
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

// awaitApplied waits until the agent that asks has taken the answer that is on record.
func (x *run) awaitApplied(ctx context.Context, id string) {
	x.mu.Lock()
	q := x.questions[id]
	x.mu.Unlock()
	if q == nil {
		return
	}
	late := time.NewTimer(settling)
	defer late.Stop()
	select {
	case <-q.settled:
	case <-x.done:
	case <-late.C:
	case <-ctx.Done():
	}
}

// late is the error of a decision about a question that does not wait in a run: when it was
// answered there, it has an [*approval.AnsweredError] with that answer, too.
func (r *Runs) late(ctx context.Context, run, question string, err error) error {
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

// asked finds a question, and the run that runs and asks it, or nil. With the id of a run
// only what waits there is found.
func (r *Runs) asked(ctx context.Context, run, id string) (*run, approval.Request, error) {
	if run != "" {
		x := r.lookup(run)
		if x != nil && !x.begun() {
			x = nil
		}
		if q, ok := x.asks(id); ok {
			return x, q, nil
		}
		q, err := r.pending(ctx, run, id)
		return x, q, err
	}
	live := r.running()
	for _, x := range live {
		if q, ok := x.asks(id); ok {
			return x, q, nil
		}
	}
	q, answer, err := approval.Find(ctx, r.o.Sessions, id)
	if err != nil || answer != nil {
		return nil, q, err
	}
	for _, x := range live {
		if x.works(q.Session) {
			return x, q, nil
		}
	}
	return nil, q, nil
}

// running lists the runs that run.
func (r *Runs) running() []*run {
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

// asks finds a question that an agent of the run waits with; in no run there is none.
func (x *run) asks(id string) (approval.Request, bool) {
	if x == nil {
		return approval.Request{}, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if q := x.questions[id]; q != nil {
		return q.Request, true
	}
	return approval.Request{}, false
}

var errDigest = errors.Join(errors.New("the digest does not match the approval request that was shown"), approval.ErrInvalid)

// pending finds a question that waits, of a run and of its agents.
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

// sessionsOf are the sessions of a run: its own, and those of its agents.
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
