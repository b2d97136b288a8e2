package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// resumePolicy applies the policy changes of the session again. There are separate rules for the
// mode. A permission that cannot be read is dropped with a notice; a denial that cannot be read is
// an error.
func (a *Agent) resumePolicy(ctx context.Context, got *session.Restored) (notices []string, err error) {
	st := got.State
	if err := a.resumeLimits(st); err != nil {
		return nil, err
	}
	if a.opt.parent != nil || a.opt.Permissions.Run != nil {
		return a.migratePolicy(ctx, st)
	}
	if notices, err = a.shared.restore(st); err != nil {
		return nil, err
	}
	set := a.shared.hasEarlyMode()
	m, ok := resumedMode(st.Mode)
	if plans := isPlanMode(st); plans || got.Interrupted && policy.Mode(st.Mode) == policy.ModePlan {
		m, ok = policy.ModePlan, true
	}
	wanted := a.opt.Permissions.Config.Mode
	if ok && a.prefersResumed(m) {
		wanted = ""
	}
	switch {
	case set || a.opt.Permissions.Guards != nil:
	case ok && wanted == "":
		if err := a.guards.Apply(policy.Change{Mode: m}); err != nil {
			return nil, err
		}
		if m == policy.ModePlan {
			notices = append(notices, "the session resumes in plan mode because its plan was not finished")
		}
	case !a.opt.Permissions.DefaultMode:
		if err := a.shared.startMode(wanted, policy.Mode(st.Mode)); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	a.newPolicy = nil // changes restored from the log are not reported
	a.mu.Unlock()
	return notices, nil
}

// prefersResumed reports whether the last mode of a session has priority over the mode of the
// options. This is possible only if the mode of the options was not requested for this run.
func (a *Agent) prefersResumed(last policy.Mode) bool {
	m := a.opt.Permissions.Config.Mode
	return m == "" || a.opt.Permissions.DefaultMode && m.Stricter(last) == last
}

// startMode records the mode that was requested for this run, if the log contains another mode.
func (r *Run) startMode(wanted, recorded policy.Mode) error {
	c, record := sessionpolicy.Start(wanted, recorded, r.root.opt.Session.Opened.User)
	if !record {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.root.guards.Check(c)
	if err == nil {
		err = r.apply(c, 0)
	}
	r.early = append(r.early, c)
	return err
}

// hasEarlyMode reports whether a mode was set before the session was opened.
func (r *Run) hasEarlyMode() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.early, func(c policy.Change) bool { return c.Mode != "" })
}

// resumeLimits applies the limits of the open turn again after a restart.
func (a *Agent) resumeLimits(st *session.State) error {
	for _, raw := range st.Policy {
		var c policy.Change
		if err := json.Unmarshal(raw, &c); err != nil {
			return fmt.Errorf("agent: restored policy: %w", err)
		}
		if c.Limit == nil || c.Limit.Turn != st.OpenTurn {
			continue
		}
		if err := a.guards.Apply(c); err != nil {
			return fmt.Errorf("agent: restored policy: %w", err)
		}
	}
	return nil
}

// migratePolicy copies policy changes to the run's log if an earlier version of Holdfast recorded
// them in an agent's log. It copies only denials, because the run may have revoked the permissions
// in the meantime.
func (a *Agent) migratePolicy(ctx context.Context, st *session.State) (notices []string, err error) {
	revoked := map[string]bool{}
	var list []policy.Change
	for _, raw := range st.Policy {
		var c policy.Change
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("agent: restored policy: %w", err)
		}
		strict, ok := c.Strict()
		switch {
		case c.Revoke != "":
			revoked[c.Revoke] = true
		case c.Limit != nil:
		case ok:
			list = append(list, strict)
		case c.Grant != nil:
			notices = append(notices, fmt.Sprintf("%s, allowed in an earlier run, needs approval again", c.Grant.Name))
		}
	}
	for _, c := range list {
		if c.Grant != nil && revoked[c.Grant.ID] {
			continue
		}
		if err := a.shared.adopt(ctx, a, c); err != nil {
			return nil, fmt.Errorf("agent: restored policy: %w", err)
		}
	}
	return notices, nil
}

// adopt records a change from another log, unless the run already has it.
func (r *Run) adopt(ctx context.Context, a *Agent, c policy.Change) error {
	r.mu.Lock()
	known := c.Grant != nil && r.grants[c.Grant.ID] || c.Patch != nil && slices.ContainsFunc(r.changes, func(o policy.Change) bool {
		return o.Patch != nil && reflect.DeepEqual(o.Patch, c.Patch)
	})
	r.mu.Unlock()
	if known {
		return nil
	}
	c.Version, c.IfVersion = 0, nil
	_, err := r.change(ctx, a, c)
	return err
}

// resumedMode returns the mode of a resumed session if none is requested. Plan mode, and modes that
// loosen the policy, end with the process in which the user set them.
func resumedMode(recorded string) (policy.Mode, bool) {
	m := policy.Mode(recorded)
	if m.Check() != nil {
		return "", false
	}
	return m, m != policy.ModeDefault && m != policy.ModePlan && m != policy.ModeBypass
}

// resume continues the tool round that was open before a restart. It handles the calls of the last
// answer that have no result. The open approval request of such a call waits again, under the same
// id. Answers that arrived in the meantime are applied. The other calls are judged.
func (l *loop) resume(ctx context.Context, st *session.State) error {
	if st.OpenTurn == "" {
		if err := l.openTurn(ctx, nil); err != nil {
			return err
		}
	} else {
		l.turn = l.newTurn(st.OpenTurn)
	}
	r := &round{}
	for _, u := range l.t.OpenUses() {
		c := &call{use: u, fromLog: true}
		r.calls = append(r.calls, c)
		if err := l.findApproval(ctx, c, st); err != nil {
			return err
		}
	}
	l.a.mu.Lock()
	l.round = r
	if len(r.calls) > 0 && r.calls[0].approval != nil {
		r.asked, l.a.asking = r.calls[0], true
	}
	l.a.mu.Unlock()
	return nil
}

// useOfApproval returns the tool use of this session that an approval request is about, or "".
func (l *loop) useOfApproval(r session.Record) string {
	var q struct {
		Use   string `json:"use_id"`
		Asker string `json:"asker"`
	}
	if err := json.Unmarshal(r.Payload, &q); err != nil || q.Asker != "" && q.Asker != l.opened.ID {
		return ""
	}
	return q.Use
}

// findApproval finds the approval request of a call, if there is one.
func (l *loop) findApproval(ctx context.Context, c *call, st *session.State) error {
	var asked session.Record
	for _, r := range st.OpenApprovals {
		if l.useOfApproval(r) == c.use.ID {
			asked = r
		}
	}
	for _, r := range st.Answered {
		if l.useOfApproval(r.Asked) != c.use.ID {
			continue
		}
		var ans approval.Answer
		if err := json.Unmarshal(r.Answer.Payload, &ans); err != nil {
			return fmt.Errorf("agent: answer to the approval request for %s: %w", c.use.ID, err)
		}
		if closedUndecided(ans) {
			continue
		}
		asked = r.Asked
		l.a.shared.mu.Lock()
		l.a.shared.storeAnswer(ans)
		l.a.shared.mu.Unlock()
	}
	if asked.Payload == nil {
		return nil
	}
	var q approval.Request
	if err := json.Unmarshal(asked.Payload, &q); err != nil {
		return fmt.Errorf("agent: approval request for %s: %w", c.use.ID, err)
	}
	_, answered := l.a.shared.answer(q.ID)
	misplaced := !answered && l.approvalLog(q) != l.runLog.ID()
	if q.Digest == "" || q.Reason == reasonDefer || misplaced { // from an earlier version without digests, deferred by a hook, or in the wrong log
		return l.withdraw(ctx, q)
	}
	c.approval, c.requests = &q, q.Requests
	c.judged = policyVersion{version: -1} // the policy of that decision is unknown
	c.call = &tool.Call{ID: c.use.ID, Session: l.opened.ID, Tool: c.use.Name, Input: c.use.Input, Resumed: true}
	c.decision = policy.Decision{
		Use: q.Use, Agent: q.Agent, Tool: q.Tool, Effect: policy.Ask, By: q.AskedBy, Reason: q.ReasonText, Rule: q.Rule,
		Mode: q.Mode, AskReason: q.Reason, Digests: digests(q.Requests), Sandbox: q.Sandbox,
	}
	return nil
}

// withdraw closes an approval request whose answer cannot be checked against the call that will
// run. It also closes a request whose record is in a different log than the record of a new request
// would be. The call is judged again and may need approval again.
func (l *loop) withdraw(ctx context.Context, q approval.Request) error {
	return l.closeApproval(ctx, q, "the call needs approval again")
}

// closeApproval denies an approval request for which no call waits. It writes the denial to the log
// that contains the request.
func (l *loop) closeApproval(ctx context.Context, q approval.Request, why string) error {
	if _, answered := l.a.shared.answer(q.ID); answered || l.log == nil {
		return nil
	}
	ans := approval.Answer{Decision: approval.Deny, Actor: byRestart, At: l.a.opt.Clock(), Message: why}.Bind(q)
	if l.approvalLog(q) == l.runLog.ID() {
		d, err := session.NewDraft(record.KindApprovalResolved, ans)
		if err != nil {
			return err
		}
		return l.write(ctx, entry{draft: d})
	}
	_, err := approval.Resolve(ctx, l.log.Sessions(), l.approvalLog(q), ans)
	if errors.Is(err, approval.ErrAnswered) {
		return nil
	}
	return err
}

// byRestart is the actor that closes approval requests for which no call waits.
const byRestart = "restart"

// closedUndecided reports whether the approval request was closed without a decision. The call of
// such a request is judged again.
func closedUndecided(ans approval.Answer) bool {
	return ans.Actor == byRestart && ans.Via == "" && ans.Decision == approval.Deny
}

// closeOrphans closes approval requests in the run's log if they are from sub-agents that ended
// with an earlier process. These are sub-agents of this agent that do not run now. A resumed
// sub-agent requests approval again.
func (l *loop) closeOrphans(ctx context.Context) error {
	if l.a.opt.parent != nil || l.runLog.Meta().OpenApprovals == 0 {
		return nil
	}
	open, err := approval.Pending(ctx, l.runLog.Sessions(), l.runLog.ID())
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(q approval.Request) bool {
		return q.Asker == "" || q.Asker == l.opened.ID || l.a.Subagent(q.Asker) != nil
	})
	if l.runLog != l.log && len(open) > 0 { // the run also has other agents
		children, err := l.log.Sessions().Children(ctx, l.opened.ID)
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(q approval.Request) bool {
			return !slices.ContainsFunc(children, func(m session.Meta) bool { return m.ID == q.Asker })
		})
	}
	for _, q := range open {
		if err := l.closeApproval(ctx, q, "the sub-agent that asked has ended"); err != nil {
			return err
		}
	}
	return nil
}

// approvalLog returns the session whose log contains an approval request.
func (l *loop) approvalLog(q approval.Request) string { return cmp.Or(q.Session, l.log.ID()) }

// closeMoot denies the approval requests of this session in the run's log for which no call waits.
func (l *loop) closeMoot(ctx context.Context, st *session.State) error {
	for _, r := range st.OpenApprovals {
		var q approval.Request
		if json.Unmarshal(r.Payload, &q) != nil {
			continue // the request belongs to another session, or no log contains a readable copy of it
		}
		waits := l.round != nil && slices.ContainsFunc(l.round.calls, func(c *call) bool { return c.approval != nil && c.approval.ID == q.ID })
		if q.Asker != l.opened.ID || waits {
			continue
		}
		if err := l.closeApproval(ctx, q, "the call will no longer run"); err != nil {
			return err
		}
	}
	return nil
}

// approvalsInRunLog adds the approval requests of a sub-agent's session, which are in the log of
// its run.
func (a *Agent) approvalsInRunLog(ctx context.Context, o *session.RestoreOptions) error {
	if o.SessionID == "" || o.Fork {
		return nil
	}
	m, err := a.opt.Sessions.Get(ctx, o.SessionID)
	if err == nil && m.Owner != "" {
		o.OpenApprovals, o.Answered, err = askedInRun(ctx, a.opt.Sessions, m.Owner, m.ID)
	}
	if errors.Is(err, session.ErrNotFound) { // the session is new, or its owner was deleted
		return nil
	}
	return err
}
