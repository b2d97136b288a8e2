package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// ledger is what the log says about permissions, as far as it was taken in.
//
//	log ─► TakeIn ─► policy.changed    ─► guards, and an event on the loop's goroutine
//	             └─► approval.resolved ─► answers
type ledger struct {
	mu      sync.Mutex // orders changes of policy; never held while a host's code runs
	from    int64      // records up to here were restored
	mode    int64      // seq of the change that set the mode
	own     int64      // changes of the callback: decisions from before are void
	passing bool       // there are grants or patches, which end with the run
	answers map[string]approval.Answer
	untold  []PolicyChanged
	early   []policy.Change // from before the session was opened: to be recorded then
}

// makeGuards makes the agent's guards from its options, or takes the host's.
func (a *Agent) makeGuards() error {
	c := a.opt.Permissions
	if g := a.opt.Guards; g != nil {
		if !reflect.ValueOf(c).IsZero() {
			return errors.New("give Permissions or Guards, not both")
		}
		a.guards = g
		return nil
	}
	if c.Now == nil {
		c.Now = a.opt.Clock
	}
	if c.NewID == nil {
		c.NewID = a.opt.NewID
	}
	var err error
	a.guards, err = policy.New(&c)
	return err
}

// Guards are what decides about this agent's tool calls: for chains and grants to
// show, and to make a sub-agent's from. Changes go through [Agent.Change].
func (a *Agent) Guards() *policy.Guards { return a.guards }

// Mode is the permission mode in force.
func (a *Agent) Mode() policy.Mode { return a.guards.Mode() }

// SetMode changes the permission mode from the next decision on and, as in seed
// 000, takes the CanUseTool callback away. With a session it is a policy.changed
// record. by says who changed it.
func (a *Agent) SetMode(ctx context.Context, m policy.Mode, by string) error {
	if _, err := policy.ParseMode(string(m)); err != nil {
		return err
	}
	if _, err := a.Change(ctx, policy.Change{Mode: m, By: by}); err != nil {
		return err
	}
	if a.opt.Guards == nil { // a host's callback is not ours to take away
		a.SetCanUseTool(nil)
	}
	return nil
}

// SetCanUseTool replaces the callback from the next decision on; nil takes it
// away. It is not recorded: a callback is code, and the next process brings its own.
func (a *Agent) SetCanUseTool(f policy.CanUseTool) {
	a.guards.SetCanUseTool(f)
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	a.ledger.own++
}

// Change changes the policy of the run: a mode, a patch, a grant, a revocation. It
// is durable and in force from the next decision on when Change returns what was
// recorded; before the session is opened it is recorded as soon as it is. Errors are those of [policy.Guards.Check], ErrClosed and the store's.
func (a *Agent) Change(ctx context.Context, c policy.Change) (policy.Change, error) {
	a.mu.Lock()
	closed := a.closed
	a.mu.Unlock()
	if closed {
		return c, ErrClosed
	}
	return a.change(context.WithoutCancel(ctx), a.ofTurn(c))
}

func (a *Agent) change(ctx context.Context, c policy.Change) (policy.Change, error) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	log := a.openLog()
	for {
		head, err := a.catchUp(ctx, log)
		if err != nil {
			return c, err
		}
		checked, err := a.guards.Check(c)
		if err != nil {
			return c, err
		}
		seq := int64(0)
		if log != nil {
			d, err := session.NewDraft(session.KindPolicyChanged, checked)
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
		if err = a.apply(checked, seq); err == nil && log == nil {
			a.ledger.early = append(a.ledger.early, checked)
		}
		return checked, err
	}
}

// opened makes the loop that of the agent, and records what was changed before
// there was a session.
func (a *Agent) opened(ctx context.Context, l *loop) error {
	g := &a.ledger
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.log != nil && len(g.early) > 0 {
		drafts := make([]session.Draft, len(g.early))
		for i, c := range g.early {
			var err error
			if drafts[i], err = session.NewDraft(session.KindPolicyChanged, c); err != nil {
				return err
			}
		}
		if _, err := l.log.Append(context.WithoutCancel(ctx), drafts...); err != nil {
			return err
		}
	}
	g.early = nil
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loop, a.log, a.id, a.snapshot = l, l.log, l.opened.ID, l.snapshotOf
	return nil
}

func (a *Agent) openLog() *session.Log {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log
}

// takeIn takes in what others have appended.
func (a *Agent) takeIn(ctx context.Context) error {
	log := a.openLog()
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	return a.readIn(ctx, log)
}

// catchUp takes in everything up to the head that it returns. ledger.mu is held.
func (a *Agent) catchUp(ctx context.Context, log *session.Log) (head int64, err error) {
	if log == nil {
		return 0, nil
	}
	// An append of our own may move the head, and meet records of others on the
	// way, between two looks.
	for {
		head = log.Head()
		if err := a.readIn(ctx, log); err != nil || log.Head() == head {
			return head, err
		}
	}
}

func (a *Agent) readIn(ctx context.Context, log *session.Log) error {
	if log == nil {
		return nil
	}
	recs, err := log.TakeIn(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	for _, r := range recs {
		if r.Seq <= a.ledger.from || r.Payload == nil {
			continue
		}
		if err := a.note(r.Kind, r.Payload, r.Seq); err != nil {
			return fmt.Errorf("agent: record %d (%s) of another program: %w", r.Seq, r.Kind, err)
		}
	}
	return nil
}

// note takes in one record of another program. One that cannot be applied stops
// the agent: to go on without it might allow what it forbids.
func (a *Agent) note(k session.Kind, payload json.RawMessage, seq int64) error {
	switch k {
	case session.KindPolicyChanged:
		var c policy.Change
		if err := json.Unmarshal(payload, &c); err != nil {
			return err
		}
		return a.apply(c, seq)
	case session.KindApprovalResolved:
		var ans approval.Answer
		if err := json.Unmarshal(payload, &ans); err != nil {
			return err
		}
		a.ledger.answered(ans)
	case session.KindItem:
		return a.takeBack(payload)
	}
	return nil
}

// answered keeps the first answer to a question.
func (g *ledger) answered(ans approval.Answer) {
	if g.answers == nil {
		g.answers = map[string]approval.Answer{}
	}
	if _, late := g.answers[ans.Question]; !late {
		g.answers[ans.Question] = ans
	}
}

// apply puts a change in force that is on record as seq. ledger.mu is held.
func (a *Agent) apply(c policy.Change, seq int64) error {
	if c.Mode != "" {
		if seq < a.ledger.mode {
			return nil // a later one was faster
		}
		a.ledger.mode = seq
	}
	if c.Grant != nil && a.granted(c.Grant.ID) {
		return nil // by another agent of the same guards
	}
	if c.Ended && a.opt.Guards != nil {
		return nil // the run is the host's to end
	}
	if err := a.guards.Apply(c); err != nil && !errors.Is(err, policy.ErrUnknownGrant) { // revoked is revoked
		return err
	}
	a.ledger.passing = !c.Ended && (a.ledger.passing || c.Grant != nil || c.Patch != nil)
	a.ledger.untold = append(a.ledger.untold, PolicyChanged{Change: c, Chain: a.guards.Guard(named(c)).Chain()})
	return nil
}

func (a *Agent) granted(id string) bool {
	return slices.ContainsFunc(a.guards.Grants(), func(g policy.Grant) bool { return g.ID == id })
}

// named is the tool that a change is about, or "".
func named(c policy.Change) string {
	switch {
	case c.Patch != nil:
		return c.Patch.Tool
	case c.Grant != nil:
		return c.Grant.Tool
	}
	return ""
}

// tellChanges tells of changes on the loop's goroutine.
func (l *loop) tellChanges() {
	g := &l.a.ledger
	g.mu.Lock()
	untold := g.untold
	g.untold = nil
	g.mu.Unlock()
	for _, e := range untold {
		l.tell(e)
	}
}

// endRun ends the run on record when there is anything that ends with it. A run
// whose question is open goes on when somebody resumes the session.
func (a *Agent) endRun() error {
	l := a.loop
	if l == nil || l.log == nil || l.round != nil && l.round.asked != nil {
		return nil
	}
	a.ledger.mu.Lock()
	passing := a.ledger.passing
	a.ledger.mu.Unlock()
	if !passing {
		return nil
	}
	_, err := a.change(context.Background(), policy.Change{Ended: true})
	if l.broken == nil && !errors.Is(err, session.ErrFenced) {
		return err
	}
	return nil // whoever took the session over goes on with the run; what broke the loop was told when it did
}
