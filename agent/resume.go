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

// resumePolicy puts what was decided in the session in force again. The mode follows its own
// rule. A permission that cannot be read here is left out, which the notices say; a denial
// stops.
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
	set := a.shared.setsMode()
	m, ok := resumedMode(st.Mode)
	if plans := isPlanMode(st); plans || got.Interrupted && policy.Mode(st.Mode) == policy.ModePlan {
		m, ok = policy.ModePlan, true
	}
	wanted := a.opt.Permissions.Config.Mode
	if ok && a.yields(m) {
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
	a.newPolicy = nil // it is no news
	a.mu.Unlock()
	return notices, nil
}

// yields reports whether the mode that a session was left in goes before that of the options,
// which nobody has asked for this time.
func (a *Agent) yields(left policy.Mode) bool {
	m := a.opt.Permissions.Config.Mode
	return m == "" || a.opt.Permissions.DefaultMode && m.Stricter(left) == left
}

// startMode records the mode that was asked for this time, where the log has another one.
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

// setsMode reports whether somebody has set a mode before the session was opened.
func (r *Run) setsMode() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.early, func(c policy.Change) bool { return c.Mode != "" })
}

// resumeLimits narrows the turn that is still open as it was narrowed before.
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

// migratePolicy records in the run's log what an earlier version has recorded in that of one of
// its agents: only what forbids, since the run may have ended or have revoked the rest.
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

// adopt records a change of another log, once.
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

// resumedMode is the mode to go on in when nobody asks for one. What was loosened
// or planned by hand does not outlive its process.
func resumedMode(recorded string) (policy.Mode, bool) {
	m := policy.Mode(recorded)
	if m.Check() != nil {
		return "", false
	}
	return m, m != policy.ModeDefault && m != policy.ModePlan && m != policy.ModeBypass
}

// resume goes on with the round that a restart has left open: the calls of the last
// answer that have no result. The question about one of them waits again, under its
// id; one that was answered meanwhile is settled, and the others are judged.
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
		c := &call{use: u, openQuestion: true}
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

// askedAbout is the tool use of this session that a question is about, or "".
func (l *loop) askedAbout(r session.Record) string {
	var q struct {
		Use   string `json:"use_id"`
		Asker string `json:"asker"`
	}
	if err := json.Unmarshal(r.Payload, &q); err != nil || q.Asker != "" && q.Asker != l.opened.ID {
		return ""
	}
	return q.Use
}

// findApproval gives a call the question that was asked about it, if one was.
func (l *loop) findApproval(ctx context.Context, c *call, st *session.State) error {
	var asked session.Record
	for _, r := range st.OpenApprovals {
		if l.askedAbout(r) == c.use.ID {
			asked = r
		}
	}
	for _, r := range st.Answered {
		if l.askedAbout(r.Asked) != c.use.ID {
			continue
		}
		var ans approval.Answer
		if err := json.Unmarshal(r.Answer.Payload, &ans); err != nil {
			return fmt.Errorf("agent: answer to the approval request for %s: %w", c.use.ID, err)
		}
		if closed(ans) {
			continue
		}
		asked = r.Asked
		l.a.shared.mu.Lock()
		l.a.shared.answered(ans)
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
	if q.Digest == "" || q.Reason == reasonDefer || misplaced { // put off, or of a version that did not say what exactly was shown
		return l.withdraw(ctx, q)
	}
	c.approval, c.requests = &q, q.Requests
	c.judged = policyVersion{version: -1} // under what it was judged then is not known
	c.call = &tool.Call{ID: c.use.ID, Session: l.opened.ID, Tool: c.use.Name, Input: c.use.Input, Resumed: true}
	c.decision = policy.Decision{
		Use: q.Use, Agent: q.Agent, Tool: q.Tool, Effect: policy.Ask, By: q.AskedBy, Reason: q.ReasonText, Rule: q.Rule,
		Mode: q.Mode, AskReason: q.Reason, Digests: digests(q.Requests), Sandbox: q.Sandbox,
	}
	return nil
}

// withdraw closes a question whose answer could not be held against what will run, or that
// is in another log than it would be now. The call is judged anew, and asked about anew.
func (l *loop) withdraw(ctx context.Context, q approval.Request) error {
	return l.close(ctx, q, "the call needs approval again")
}

// close denies a question that nobody waits with any more, where it was asked.
func (l *loop) close(ctx context.Context, q approval.Request, why string) error {
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

// byRestart closes questions that nobody waits with any more.
const byRestart = "restart"

// closed reports whether the approval request was closed without a decision. Its call is judged
// again.
func closed(ans approval.Answer) bool {
	return ans.Actor == byRestart && ans.Via == "" && ans.Decision == approval.Deny
}

// closeOrphans closes the questions in the log of the run whose askers have ended with the
// program that ran them: sub-agents that this agent had begun and that do not work now.
// Whoever goes on with one has it ask anew.
func (l *loop) closeOrphans(ctx context.Context) error {
	if l.a.opt.parent != nil || l.runLog.Meta().OpenApprovals == 0 {
		return nil
	}
	open, err := approval.Pending(ctx, l.runLog.Sessions(), l.runLog.ID())
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(q approval.Request) bool {
		return q.Asker == "" || q.Asker == l.opened.ID || l.a.opt.Subagents.works(q.Asker)
	})
	if l.runLog != l.log && len(open) > 0 { // others work for the run, too
		begun, err := l.log.Sessions().Children(ctx, l.opened.ID)
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(q approval.Request) bool {
			return !slices.ContainsFunc(begun, func(m session.Meta) bool { return m.ID == q.Asker })
		})
	}
	for _, q := range open {
		if err := l.close(ctx, q, "the sub-agent that asked has ended"); err != nil {
			return err
		}
	}
	return nil
}

// approvalLog is the session whose log has a question.
func (l *loop) approvalLog(q approval.Request) string { return cmp.Or(q.Session, l.log.ID()) }

// closeMoot denies the questions of this session in the log of its run that no call waits
// with.
func (l *loop) closeMoot(ctx context.Context, st *session.State) error {
	for _, r := range st.OpenApprovals {
		var q approval.Request
		if json.Unmarshal(r.Payload, &q) != nil {
			continue // it is not of this session, or could not have been read where it is
		}
		waits := l.round != nil && slices.ContainsFunc(l.round.calls, func(c *call) bool { return c.approval != nil && c.approval.ID == q.ID })
		if q.Asker != l.opened.ID || waits {
			continue
		}
		if err := l.close(ctx, q, "the call will not run any more"); err != nil {
			return err
		}
	}
	return nil
}

// approvalsInRunLog looks in the log of the run that a session works for for the questions that
// it has asked.
func (a *Agent) approvalsInRunLog(ctx context.Context, o *session.RestoreOptions) error {
	if o.SessionID == "" || o.Fork {
		return nil
	}
	m, err := a.opt.Sessions.Get(ctx, o.SessionID)
	if err == nil && m.Owner != "" {
		o.OpenApprovals, o.Answered, err = askedInRun(ctx, a.opt.Sessions, m.Owner, m.ID)
	}
	if errors.Is(err, session.ErrNotFound) { // it is new, or its owner was deleted
		return nil
	}
	return err
}
