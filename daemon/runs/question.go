package runs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/session"
)

// question is a question that an agent of a run waits with.
//
//	agent ─ ask ─► question ◄─ Decide: first one claims it, the others wait for what counts
//	                  └── answer ─► agent ─ one append ─► resolved
type question struct {
	approval.Question
	answer  chan approval.Answer // takes one
	claimed bool                 // under run.mu
	settled chan struct{}        // closed once won is there, or the agent has gone
	won     *approval.Answer     // nil: the agent has gone
}

// errGone says that whoever asked has gone without taking the answer.
var errGone = errors.New("whoever asked has gone")

// settling bounds how long a decision waits for the agent that it is for.
const settling = 5 * time.Second

// ask is [agent.Options.Ask]: it waits until a client has decided.
func (m *member) ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	x := m.x
	own := &question{Question: q, answer: make(chan approval.Answer, 1), settled: make(chan struct{})}
	x.mu.Lock()
	if ctx.Err() != nil { // the agent has an answer, or waits no more
		x.mu.Unlock()
		return approval.Answer{}, context.Cause(ctx)
	}
	x.questions[q.ID] = own
	if early, ok := x.parked[q.ID]; ok {
		close(early)
		delete(x.parked, q.ID)
	}
	x.mu.Unlock()
	select {
	case ans := <-own.answer:
		return ans, nil
	case <-ctx.Done(): // answered elsewhere, time is up, or interrupted: the agent will say
		return approval.Answer{}, context.Cause(ctx)
	case <-x.r.leave:
		x.leaves(q.ID)
		return approval.Answer{}, approval.ErrLeave
	}
}

// resolved tells who waits which answer counts.
func (x *run) resolved(id string, won approval.Answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if q := x.questions[id]; q != nil {
		q.won = &won
		close(q.settled)
		delete(x.questions, id)
	}
	if early, ok := x.parked[id]; ok { // it was never put here
		close(early)
		delete(x.parked, id)
	}
}

// leaves is gone for a question that is left open: the run ends, and can be gone on with.
func (x *run) leaves(id string) {
	x.gone(id)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.leaving = true
}

// gone says that an answer will not be taken here.
func (x *run) gone(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if q := x.questions[id]; q != nil {
		close(q.settled)
		delete(x.questions, id)
	}
}

// Decide answers a question of a run, whether that runs or not, and returns the answer
// that counts. With no run it finds the question by its id. Errors are those of
// [approval.Resolve] and [approval.Find]; a digest that is not "" must be that of the
// question ([approval.ErrInvalid]).
func (r *Runs) Decide(ctx context.Context, id string, ans approval.Answer, digest string) (approval.Answer, error) {
	x, q, err := r.asked(ctx, id, ans.Question)
	if err != nil {
		return approval.Answer{}, r.late(ctx, id, ans.Question, err)
	}
	if x != nil {
		won, err := x.decide(ctx, ans, digest)
		if id != "" {
			err = r.late(ctx, id, ans.Question, err)
		}
		answered := id == "" && errors.Is(err, approval.ErrNoQuestion) // between the two looks
		if !answered && !errors.Is(err, errGone) {
			return won, err
		}
		if q, _, err = approval.Find(ctx, r.o.Sessions, ans.Question); err != nil {
			return approval.Answer{}, err
		}
	}
	if digest != "" && digest != q.Digest {
		return approval.Answer{}, errDigest
	}
	won, err := approval.Resolve(ctx, r.o.Sessions, q.Session, ans)
	if err == nil {
		err = r.relayAnswer(ctx, q.Session)
	}
	return won, err
}

// late is the error of a decision about a question that does not wait in a run: when it was
// answered there, it has an [*approval.AnsweredError] with that answer, too.
func (r *Runs) late(ctx context.Context, run, question string, err error) error {
	if run == "" || !errors.Is(err, approval.ErrNoQuestion) {
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
			if rec.Kind == session.KindApprovalResolved && json.Unmarshal(rec.Payload, &a) == nil && a.Question == question {
				return errors.Join(err, &approval.AnsweredError{Winner: a})
			}
		}
	}
	return err
}

// asked finds the run that runs and asks a question, or, with none, the question on
// record. With the id of a run only what waits there is found.
func (r *Runs) asked(ctx context.Context, run, id string) (*run, approval.Question, error) {
	if run != "" {
		if x := r.lookup(run); x != nil && x.begun() {
			return x, approval.Question{}, nil
		}
		q, err := r.pending(ctx, run, id)
		return nil, q, err
	}
	live := r.running()
	for _, x := range live {
		if x.asks(id) {
			return x, approval.Question{}, nil
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

func (x *run) asks(question string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.questions[question] != nil
}

var errDigest = errors.Join(errors.New("it is not what was shown: the digest differs"), approval.ErrInvalid)

// decide hands an answer to the agent that waits for it. errGone when there is none.
func (x *run) decide(ctx context.Context, ans approval.Answer, digest string) (approval.Answer, error) {
	q, err := x.await(ctx, ans.Question)
	if err != nil {
		return approval.Answer{}, err
	}
	if digest != "" && digest != q.Digest {
		return approval.Answer{}, errDigest
	}
	if err := approval.Check(q.Question, ans); err != nil {
		return approval.Answer{}, err
	}
	x.mu.Lock()
	if !q.claimed {
		q.claimed = true
		q.answer <- ans
	}
	x.mu.Unlock()
	select {
	case <-q.settled:
	case <-x.done:
	case <-ctx.Done():
		return approval.Answer{}, context.Cause(ctx)
	}
	x.mu.Lock()
	won := q.won
	x.mu.Unlock()
	switch {
	case won == nil:
		return approval.Answer{}, errGone
	case !same(*won, ans):
		return *won, &approval.AnsweredError{Winner: *won}
	}
	return *won, nil
}

// same reports whether an answer that counts is the one that was given.
func same(won, own approval.Answer) bool {
	return won.Decision == own.Decision && won.Scope == own.Scope && string(won.Input) == string(own.Input)
}

// await returns a question of an agent that waits. One that is on record and not put
// yet is waited for: who follows the log can be faster than the agent.
func (x *run) await(ctx context.Context, id string) (*question, error) {
	x.mu.Lock()
	q := x.questions[id]
	x.mu.Unlock()
	if q != nil {
		return q, nil
	}
	if _, err := x.r.pending(ctx, x.id, id); err != nil {
		return nil, err
	}
	x.mu.Lock()
	if q := x.questions[id]; q != nil {
		x.mu.Unlock()
		return q, nil
	}
	put, ok := x.parked[id]
	if !ok {
		put = make(chan struct{})
		x.parked[id] = put
	}
	x.mu.Unlock()
	late := time.NewTimer(settling)
	defer late.Stop()
	select {
	case <-put:
	case <-late.C:
	case <-x.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if q := x.questions[id]; q != nil {
		return q, nil
	}
	return nil, errGone
}

// pending finds a question that waits, of a run and of its agents.
func (r *Runs) pending(ctx context.Context, run, id string) (approval.Question, error) {
	sessions, err := r.sessionsOf(ctx, run)
	if err != nil {
		return approval.Question{}, err
	}
	for _, s := range sessions {
		open, err := approval.Pending(ctx, r.o.Sessions, s)
		if err != nil {
			return approval.Question{}, err
		}
		if i := slices.IndexFunc(open, func(q approval.Question) bool { return q.ID == id }); i >= 0 {
			return open[i], nil
		}
	}
	return approval.Question{}, approval.ErrNoQuestion
}

// sessionsOf are the sessions of a run: its own, and those of its agents.
func (r *Runs) sessionsOf(ctx context.Context, run string) ([]string, error) {
	if _, err := r.o.Sessions.Get(ctx, run); errors.Is(err, session.ErrNotFound) {
		return nil, approval.ErrNoQuestion
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
