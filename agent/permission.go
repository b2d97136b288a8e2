package agent

import (
	"context"
	"errors"
	"reflect"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// makeGuards makes the agent's guards from its options, or uses the guards of the host.
func (a *Agent) makeGuards() error {
	c := a.opt.Permissions.Config
	if g := a.opt.Permissions.Guards; g != nil {
		if !reflect.ValueOf(c).IsZero() {
			return errors.New("Permissions.Config and Permissions.Guards are both set; hint: set one of them")
		}
		a.guards = g
		return a.joinRun()
	}
	if c.Now == nil {
		c.Now = a.opt.Clock
	}
	if c.NewID == nil {
		c.NewID = a.opt.NewID
	}
	var err error
	if a.guards, err = policy.New(&c); err != nil {
		return err
	}
	return a.joinRun()
}

// joinRun sets the agent's run: its parent's, the host's, or a new one.
func (a *Agent) joinRun() error {
	switch {
	case a.opt.parent != nil:
		a.shared = a.opt.parent.shared
		return nil
	case a.opt.Permissions.Run != nil:
		a.shared = a.opt.Permissions.Run
	default:
		a.shared = &Run{root: a, budget: a.budget}
	}
	return a.shared.join(a)
}

// Guards returns the guards that decide about this agent's tool calls. They are used to show chains
// and grants, and to make the guards of a sub-agent. Change them only with [Agent.Change].
func (a *Agent) Guards() *policy.Guards { return a.guards }

// Mode returns the current permission mode.
func (a *Agent) Mode() policy.Mode { return a.guards.Mode() }

// SetMode changes the permission mode, starting with the next decision. As in the Open Agent SDK,
// it also removes the CanUseTool callback. With a store, the change is a policy.changed record. The
// parameter by is the name of the actor.
func (a *Agent) SetMode(ctx context.Context, m policy.Mode, by string) error {
	if err := m.Check(); err != nil {
		return err
	}
	if _, err := a.Change(ctx, policy.Change{Mode: m, By: by}); err != nil {
		return err
	}
	if a.opt.Permissions.Guards == nil { // the callback belongs to the host
		a.SetCanUseTool(nil)
	}
	return nil
}

// SetCanUseTool replaces the callback, starting with the next decision; nil removes it. The
// callback is not recorded because it is code, and the next process sets its own.
func (a *Agent) SetCanUseTool(f policy.CanUseTool) {
	a.guards.SetCanUseTool(f)
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	a.shared.callbacks++
}

// Change changes the policy of the run: for example, a mode, a patch, a grant, or the revocation of
// a grant. When Change returns, the change is durable and applies to the next decision. Before the
// session is open, it is recorded when the session opens. Change returns the errors of
// [policy.Guards.Check], ErrClosed and errors of the store.
func (a *Agent) Change(ctx context.Context, c policy.Change) (policy.Change, error) {
	a.mu.Lock()
	closed := a.closed
	a.mu.Unlock()
	if closed {
		return c, ErrClosed
	}
	ctx, kept := detachedContext(ctx)
	done, err := a.change(ctx, a.withTurn(c))
	return done, kept(err)
}

func (a *Agent) change(ctx context.Context, c policy.Change) (policy.Change, error) {
	if c.Limit != nil {
		return a.limit(ctx, c)
	}
	return a.shared.change(ctx, a, c)
}

// limit restricts what the agent and its sub-agents may do in a turn of its session. The limit is
// recorded in the log of that session.
func (a *Agent) limit(ctx context.Context, c policy.Change) (policy.Change, error) {
	checked, err := a.guards.Check(c)
	if err != nil {
		return c, err
	}
	d, err := session.NewDraft(record.KindPolicyChanged, checked)
	if err != nil {
		return c, err
	}
	if log := a.openLog(); log != nil {
		if _, err := log.Append(ctx, d); err != nil {
			return c, err
		}
	}
	if err := a.guards.Apply(checked); err != nil {
		return c, err
	}
	a.deferEvent(checked)
	return checked, nil
}

// attachLoop sets the agent's loop and the values that belong to it.
func (a *Agent) attachLoop(ctx context.Context, l *loop) error {
	if a.opt.parent == nil && a.opt.Permissions.Run == nil {
		if err := a.shared.attachLog(ctx, l.log); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loop, a.log, a.id, a.snapshot = l, l.log, l.opened.ID, l.snapshotOf
	if l.log != nil {
		l.log.OnLeaseLost(a.leaseLost)
	}
	return nil
}

func (a *Agent) openLog() *session.Log {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log
}

// readNew reads the records that other programs have appended to the logs of the run and of the
// agent.
func (a *Agent) readNew(ctx context.Context) error {
	if err := a.shared.readNew(ctx); err != nil {
		return err
	}
	log := a.openLog()
	if log == nil || log == a.shared.runLog() {
		return nil
	}
	ctx, kept := detachedContext(ctx)
	recs, err := log.Refresh(ctx)
	err = kept(err)
	for _, r := range recs {
		if r.Kind == session.KindItem && r.Payload != nil && err == nil {
			err = a.requeue(r.Payload)
		}
	}
	return err
}

// changedTool returns the tool that a change is about, or "".
func changedTool(c policy.Change) string {
	switch {
	case c.Patch != nil:
		return c.Patch.Tool
	case c.Grant != nil:
		return c.Grant.Tool
	}
	return ""
}

// emitChanges emits the events of policy changes. It runs on the loop's goroutine.
func (l *loop) emitChanges() {
	l.a.mu.Lock()
	changed := l.a.newPolicy
	l.a.newPolicy = nil
	l.a.mu.Unlock()
	for _, e := range changed {
		l.publish(e)
	}
}
