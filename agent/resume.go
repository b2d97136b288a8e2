package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// resumePolicy puts what was decided in a run that no Close has ended in force
// again: grants and patches. The mode follows its own rule. A permission that
// cannot be read here is left out, which the notices say; a denial stops. Those that a
// sub-agent's log has were for a run of its parent, which may have ended, or have revoked
// them: only what forbids comes back.
func (a *Agent) resumePolicy(st *session.State) (notices []string, err error) {
	g := &a.ledger
	g.mu.Lock()
	defer g.mu.Unlock()
	g.from = st.Head
	for _, raw := range st.Policy {
		var c policy.Change
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("agent: restored policy: %w", err)
		}
		if c.Mode != "" || c.Limit != nil && c.Limit.Turn != st.OpenTurn {
			continue
		}
		if a.opt.parent != nil && c.Revoke == "" {
			strict, ok := c.Strict()
			if !ok {
				if c.Grant != nil {
					notices = append(notices, fmt.Sprintf("what was allowed in an earlier run (%s) is asked about again", c.Grant.Name))
				}
				continue
			}
			c = strict
		}
		switch err := a.apply(c, 0); {
		case err != nil && c.Grant != nil && c.Grant.Effect == policy.Allow:
			notices = append(notices, fmt.Sprintf("what was allowed for the run (%s) is left out: %v", c.Grant.Name, err))
		case err != nil:
			return nil, fmt.Errorf("agent: restored policy: %w", err)
		}
	}
	set := slices.ContainsFunc(g.early, func(c policy.Change) bool { return c.Mode != "" })
	m, ok := resumedMode(st.Mode)
	plans := stillPlans(st)
	if plans {
		m, ok = policy.ModePlan, true
	}
	wanted := a.opt.Permissions.Mode
	if plans && a.opt.UsualMode && (wanted == policy.ModePlan || policy.Stricter(wanted, policy.ModePlan) == policy.ModePlan) {
		wanted = "" // what never asks stays
	}
	if ok && !set && wanted == "" && a.opt.Guards == nil {
		if err := a.apply(policy.Change{Mode: m}, 0); err != nil {
			return nil, err
		}
		if m == policy.ModePlan {
			notices = append(notices, "the session goes on in plan mode: a question that was asked in it is not settled")
		}
	}
	g.untold = nil // it is no news
	return notices, nil
}

// resumedMode is the mode to go on in when nobody asks for one. What was loosened
// or planned by hand does not outlive its process.
func resumedMode(recorded string) (policy.Mode, bool) {
	m, err := policy.ParseMode(recorded)
	return m, err == nil && m != policy.ModeDefault && m != policy.ModePlan && m != policy.ModeBypass
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
		c := &call{use: transcript.Use{ID: u.ID, Name: u.Name, Input: u.Input}, recalled: true}
		r.calls = append(r.calls, c)
		if err := l.recall(ctx, c, st); err != nil {
			return err
		}
	}
	l.a.mu.Lock()
	l.round = r
	if len(r.calls) > 0 && r.calls[0].question != nil {
		r.asked, l.a.asking = r.calls[0], true
	}
	l.a.mu.Unlock()
	return nil
}

// recall gives a call the question that was asked about it, if one was.
func (l *loop) recall(ctx context.Context, c *call, st *session.State) error {
	var payload json.RawMessage
	for _, q := range st.Asked {
		if q.Use == c.use.ID {
			payload = q.Payload
		}
	}
	for _, q := range st.Answered {
		if q.Use != c.use.ID {
			continue
		}
		var ans approval.Answer
		if err := json.Unmarshal(q.Answer, &ans); err != nil {
			return fmt.Errorf("agent: answer to question %s: %w", q.ID, err)
		}
		payload = q.Payload
		l.a.ledger.mu.Lock()
		l.a.ledger.answered(ans)
		l.a.ledger.mu.Unlock()
	}
	if payload == nil {
		return nil
	}
	var q approval.Question
	if err := json.Unmarshal(payload, &q); err != nil {
		return fmt.Errorf("agent: question about %s: %w", c.use.ID, err)
	}
	if q.Digest == "" || q.Reason == reasonDefer { // put off, or of a version that did not say what exactly was shown
		return l.withdraw(ctx, q)
	}
	c.question, c.requests = &q, q.Requests
	c.judged = asOf{version: -1} // under what it was judged then is not known
	c.call = &tool.Call{ID: c.use.ID, Session: l.opened.ID, Tool: c.use.Name, Input: c.use.Input, Resumed: true}
	c.decision = policy.Decision{
		Use: q.Use, Agent: q.Agent, Tool: q.Tool, Effect: policy.Ask, By: q.By, Reason: q.Why, Rule: q.Rule,
		Mode: q.Mode, Why: q.Reason, Digests: digests(q.Requests), Sandbox: q.Sandbox,
	}
	return nil
}

// withdraw closes a question whose answer could not be held against what will run.
// The call is judged anew, and asked about anew.
func (l *loop) withdraw(ctx context.Context, q approval.Question) error {
	if _, answered := l.a.ledger.answer(q.ID); answered {
		return nil
	}
	ans := approval.Answer{
		Question: q.ID, Decision: approval.Deny, By: "restart", At: l.a.opt.Clock(), Message: "it is asked anew",
	}
	d, err := session.NewDraft(session.KindApprovalResolved, ans)
	if err != nil {
		return err
	}
	return l.write(ctx, entry{draft: d})
}
