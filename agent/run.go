package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// Run holds what all agents of one run share: the mode, grants, denials and patches of the session
// that the user started, the answers to approval requests, and the budget. All of it is recorded in
// the log of that session, whichever agent requested it. Each agent of the run reads new records
// from that log before it decides about a call.
//
//	agent, sub-agent, teammate ─► Run ─► policy.changed, approval.asked, approval.resolved
//	                               ▲                    │ of the one log
//	other programs ────────────────┴───── new records ◄─┘
//
// An agent without a Run creates one, which its sub-agents share. [NewRun] creates a Run for
// several agents that work for one session. A Run is safe for concurrent use.
type Run struct {
	changeMu sync.Mutex // makes policy changes and reads of the log run one after another; locked before mu

	mu        sync.Mutex   // protects the fields below; not held during store operations or host code
	log       *session.Log // nil without a store, and before the log is opened
	from      int64        // seq of the last restored record
	mode      int64        // seq of the record that set the mode
	callbacks int64        // number of changes of the callback; each change makes earlier decisions invalid
	resumed   policy.Mode  // the session's last mode, for members without a mode of their own
	changes   []policy.Change
	early     []policy.Change // changes made before the session was opened, which are recorded when it opens
	answers   map[string]approval.Answer
	granted   map[string]string // ids of grants by approval request, including revoked grants
	grants    map[string]bool   // ids of all recorded grants, including revoked grants
	root      *Agent            // the agent whose session has the log, or nil
	budget    *budget
	members   []*Agent // the agents with their own guards; sub-agents derive their guards from those of a member
}

// NewRun returns the run of a session for which several agents work, each in its own session
// ([Options].Run). log is the log of that session. The code that opened it closes it after the
// agents have been closed. Earlier policy changes of the session also apply. NewRun returns errors
// of the store.
func NewRun(ctx context.Context, log *session.Log) (*Run, error) {
	r := &Run{log: log, budget: &budget{}}
	st, err := log.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	r.resumed, _ = resumedMode(st.Mode)
	r.budget.restore(st)
	_, err = r.restore(st)
	return r, err
}

// join adds an agent with its own guards and applies the policy changes of the run to it.
func (r *Run) join(a *Agent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resumed != "" && a.opt.Permissions.Guards == nil && a.prefersResumed(r.resumed) {
		if err := a.guards.Apply(policy.Change{Mode: r.resumed}); err != nil {
			return err
		}
	}
	for _, c := range r.changes {
		if err := a.applyChange(c); err != nil && !(c.Grant != nil && c.Grant.Effect == policy.Allow) {
			return fmt.Errorf("earlier policy change: %w", err)
		}
	}
	r.members = append(r.members, a)
	return nil
}

// restore applies the policy changes of the log, except modes and limits. A permission that cannot
// be read is dropped with a notice; a denial that cannot be read is an error.
func (r *Run) restore(st *session.State) (notices []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = st.Head
	for _, raw := range st.Policy {
		var c policy.Change
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("agent: restored policy: %w", err)
		}
		if c.Mode != "" || c.Limit != nil {
			continue
		}
		switch err := r.apply(c, 0); {
		case err != nil && c.Grant != nil && c.Grant.Effect == policy.Allow:
			notices = append(notices, fmt.Sprintf("session grant %s was dropped: %v", c.Grant.Name, err))
		case err != nil:
			return nil, fmt.Errorf("agent: restored policy: %w", err)
		}
	}
	return notices, nil
}

// Change is [Agent.Change] for all agents of the run. It also works while the run has no agent.
func (r *Run) Change(ctx context.Context, c policy.Change) (policy.Change, error) {
	r.changeMu.Lock()
	defer r.changeMu.Unlock()
	guards, err := r.anyGuards()
	if err != nil {
		return c, err
	}
	ctx, kept := detachedContext(ctx)
	done, err := r.changeAs(ctx, guards, c)
	return done, kept(err)
}

// anyGuards returns the guards of the first member of the run, or the guards for a run without
// agents.
func (r *Run) anyGuards() (*policy.Guards, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.members) > 0 {
		return r.members[0].guards, nil
	}
	return r.guardsWithoutAgent()
}

// Chain returns the policy chain of a tool, or of all tools for "", as far as it can be determined
// without the settings of an agent.
func (r *Run) Chain(tool string) (policy.Chain, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	guards, err := r.guardsWithoutAgent()
	if err != nil {
		return policy.Chain{}, err
	}
	return guards.Guard(tool).Chain(), nil
}

// guardsWithoutAgent returns guards for a run that has no agent now. mu is held.
func (r *Run) guardsWithoutAgent() (*policy.Guards, error) {
	o := &policy.Config{NewID: func() string { return ulid.Make().String() }}
	if r.log != nil {
		o.NewID = r.log.Sessions().NewID
		if cwd := r.log.Meta().CWD; path.IsAbs(cwd) {
			o.Folders = []string{path.Clean(cwd)}
		}
	}
	guards, err := policy.New(o)
	for i := 0; i < len(r.changes) && err == nil; i++ {
		err = guards.Apply(r.changes[i])
	}
	return guards, err
}

// change records and applies a change, which it checks with the guards of a.
func (r *Run) change(ctx context.Context, a *Agent, c policy.Change) (policy.Change, error) {
	r.changeMu.Lock()
	defer r.changeMu.Unlock()
	return r.changeAs(ctx, a.rootAgent().guards, c)
}

// changeAs is like change, but checks the change with other guards. changeMu is held.
func (r *Run) changeAs(ctx context.Context, guards *policy.Guards, c policy.Change) (policy.Change, error) {
	log := r.runLog()
	for {
		head, err := r.readToHead(ctx)
		if err != nil {
			return c, err
		}
		checked, err := guards.Check(c)
		if err != nil {
			return c, err
		}
		seq := int64(0)
		if log != nil {
			d, err := session.NewDraft(record.KindPolicyChanged, checked)
			if err != nil {
				return c, err
			}
			recs, err := log.AppendAt(ctx, head, d)
			if errors.Is(err, session.ErrConflict) {
				continue
			}
			if err != nil {
				return c, err
			}
			seq = recs[0].Seq
		}
		return checked, r.applyChange(checked, seq)
	}
}

// applyChange applies a change that was recorded with this seq. Without a log, the change is
// recorded when the session opens.
func (r *Run) applyChange(c policy.Change, seq int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.apply(c, seq)
	if err == nil && r.log == nil {
		r.early = append(r.early, c)
	}
	return err
}

// attachLog sets the log of the run and records the earlier changes in it.
func (r *Run) attachLog(ctx context.Context, log *session.Log) error {
	r.changeMu.Lock()
	defer r.changeMu.Unlock()
	r.mu.Lock()
	early := r.early
	r.mu.Unlock()
	if log != nil && len(early) > 0 {
		drafts := make([]session.Draft, len(early))
		for i, c := range early {
			var err error
			if drafts[i], err = session.NewDraft(record.KindPolicyChanged, c); err != nil {
				return err
			}
		}
		ctx, kept := detachedContext(ctx)
		_, err := log.Append(ctx, drafts...)
		if err = kept(err); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.early, r.log = nil, log
	return nil
}

// readNew reads the records that other programs appended.
func (r *Run) readNew(ctx context.Context) error {
	r.changeMu.Lock()
	defer r.changeMu.Unlock()
	return r.readBatch(ctx)
}

// runLog returns the log that contains the run's records, or nil.
func (r *Run) runLog() *session.Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log
}

// readToHead reads all records up to the head that it returns. changeMu is held.
func (r *Run) readToHead(ctx context.Context) (head int64, err error) {
	log := r.runLog()
	if log == nil {
		return 0, nil
	}
	// Between two reads, a concurrent append by this process may move the head past records of
	// other programs.
	for {
		head = log.Head()
		if err := r.readBatch(ctx); err != nil || log.Head() == head {
			return head, err
		}
	}
}

// readBatch reads the records that are new. changeMu is held.
func (r *Run) readBatch(ctx context.Context) error {
	log := r.runLog()
	if log == nil {
		return nil
	}
	ctx, kept := detachedContext(ctx)
	recs, err := log.Refresh(ctx)
	if err = kept(err); err != nil || len(recs) == 0 {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range recs {
		if rec.Seq <= r.from || rec.Payload == nil {
			continue
		}
		if err := r.applyRecord(rec.Kind, rec.Payload, rec.Seq); err != nil {
			return fmt.Errorf("agent: record %d (%s), written by another program: %w", rec.Seq, rec.Kind, err)
		}
	}
	return nil
}

// applyRecord applies one record of another program. If it cannot be applied, the agent stops,
// because otherwise it might allow an action that the record forbids. mu is held.
func (r *Run) applyRecord(k session.Kind, payload json.RawMessage, seq int64) error {
	switch k {
	case record.KindPolicyChanged:
		var c policy.Change
		if err := json.Unmarshal(payload, &c); err != nil {
			return err
		}
		return r.apply(c, seq)
	case record.KindApprovalResolved:
		var ans approval.Answer
		if err := json.Unmarshal(payload, &ans); err != nil {
			return err
		}
		r.storeAnswer(ans)
	case session.KindItem:
		if r.root != nil {
			return r.root.requeue(payload)
		}
	}
	return nil
}

// storeAnswer stores the first answer to an approval request. mu is held.
func (r *Run) storeAnswer(ans approval.Answer) {
	if r.answers == nil {
		r.answers = map[string]approval.Answer{}
	}
	if _, late := r.answers[ans.RequestID]; !late {
		r.answers[ans.RequestID] = ans
	}
}

func (r *Run) answer(id string) (approval.Answer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ans, ok := r.answers[id]
	return ans, ok
}

// readAnswer reads the records of other programs up to head. It returns the recorded answer to an
// approval request, or nil if there is none yet.
func (r *Run) readAnswer(ctx context.Context, id string) (head int64, stored *approval.Answer, err error) {
	r.changeMu.Lock()
	defer r.changeMu.Unlock()
	if head, err = r.readToHead(ctx); err != nil {
		return 0, nil, err
	}
	if ans, ok := r.answer(id); ok {
		stored = &ans
	}
	return head, stored, nil
}

// grantOf returns the id of the grant that already exists for the answer to an approval request.
// Another program may have created it, or this one before a restart. Without a grant it returns "".
func (r *Run) grantOf(request string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.granted[request]
}

// apply applies the change that is recorded with this seq. mu is held.
func (r *Run) apply(c policy.Change, seq int64) error {
	switch {
	case c.Mode != "":
		if seq < r.mode {
			return nil // a later change was applied before this one
		}
		r.mode = seq
	case c.Grant != nil:
		if r.grants[c.Grant.ID] {
			return nil
		}
		if r.grants == nil {
			r.grants, r.granted = map[string]bool{}, map[string]string{}
		}
		r.grants[c.Grant.ID] = true
		if c.Grant.Question != "" {
			r.granted[c.Grant.Question] = c.Grant.ID
		}
	}
	for _, a := range r.members {
		if err := a.applyChange(c); err != nil {
			return err
		}
		a.deferEvent(c)
	}
	if r.changes = append(r.changes, c); c.Ended {
		r.changes = nil
	}
	return nil
}

// applyChange applies a change of the run to an agent with its own guards, and to its sub-agents.
func (a *Agent) applyChange(c policy.Change) error {
	if c.Grant != nil && slices.ContainsFunc(a.guards.Grants(), func(g policy.Grant) bool { return g.ID == c.Grant.ID }) {
		return nil // another agent with the same guards has already applied the change
	}
	if c.Ended && a.opt.Permissions.Guards != nil {
		return nil // the host ends the run
	}
	if err := a.guards.Apply(c); err != nil && !errors.Is(err, policy.ErrUnknownGrant) { // it is not an error if the grant is already revoked
		return err
	}
	return nil
}

// deferEvent queues the event of a change, which the loop emits later.
func (a *Agent) deferEvent(c policy.Change) {
	e := event.PolicyChanged{Change: c}
	a.mu.Lock()
	a.newPolicy = append(a.newPolicy, e)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// rootAgent returns the agent from whose guards the agent's guards are derived: its topmost parent,
// or the agent itself if it has no parent.
func (a *Agent) rootAgent() *Agent {
	for a.opt.parent != nil {
		a = a.opt.parent
	}
	return a
}
