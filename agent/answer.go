package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
)

// answerEffect describes what an answer to an approval request does.
//
//	answer ─► call unchanged, and not denied since? ─► one batch:
//	            approval.resolved + decision + tool.started (or the denial) + policy.changed
type answerEffect struct {
	answer   approval.Answer
	recorded bool             // another program recorded the answer
	late     *approval.Answer // the answer that this process gave, if another answer came first and differs
	decision policy.Decision
	call     *tool.Call     // the call to run, or nil
	text     string         // the tool result if the call does not run
	change   *policy.Change // a grant for the session, or nil
}

// resolve applies an answer to the pending approval request: allow starts the call, deny ends it.
// If another program has recorded an answer first, that answer applies, and resolve returns an
// *AnsweredError if the answer in given differs from it. The parameter given is nil if the caller
// knows that another program has answered.
func (l *loop) resolve(ctx context.Context, id string, given *approval.Answer) error {
	r := l.round
	if r == nil || r.asked == nil || r.asked.approval.ID != id {
		return approval.ErrNoRequest
	}
	c := r.asked
	if err := l.announceApproval(c); err != nil {
		return err
	}
	if given != nil {
		if err := c.approval.Check(*given); err != nil {
			return err
		}
		given = l.completeAnswer(c.approval, *given)
	}
	ctx, kept := detachedContext(ctx)
	for {
		var head int64
		var stored *approval.Answer
		err := l.retryRead(ctx, func() (err error) {
			head, stored, err = l.a.shared.readAnswer(ctx, id)
			return err
		})
		if err == nil {
			s := l.evaluateAnswer(ctx, c, given, stored)
			if err = l.commit(ctx, head, c, s); errors.Is(err, session.ErrConflict) {
				continue // another program appended first, so its records are read
			}
			if err == nil && s.late != nil {
				return kept(&approval.AnsweredError{First: s.answer})
			}
		}
		if err = kept(err); err != nil {
			l.broken = err
		}
		return err
	}
}

// completeAnswer sets the recorded fields of an answer. An allow after the deadline becomes a deny.
func (l *loop) completeAnswer(q *approval.Request, ans approval.Answer) *approval.Answer {
	if ans.Decision.Allows() && l.isLate(q) {
		ans = timedOut()
	}
	ans = ans.Bind(*q)
	ans.At, ans.Actor = l.a.opt.Clock(), cmp.Or(ans.Actor, "person")
	return &ans
}

// evaluateAnswer returns the effect of an answer.
func (l *loop) evaluateAnswer(ctx context.Context, c *call, given, stored *approval.Answer) *answerEffect {
	s := &answerEffect{recorded: stored != nil}
	if stored != nil {
		s.answer = *stored
		if given != nil && !agree(*given, *stored) {
			s.late = given
		}
	} else {
		s.answer = *given
	}
	ans, d := s.answer, c.decision
	d.PersonAsked, d.AskReason, d.By, d.Reason = true, c.approval.Reason, cmp.Or(ans.Actor, "person"), ans.Message
	d.Effect, d.Stop, d.Rule = policy.Deny, ans.Stop, nil
	if d.By == byNobody && d.Reason == "" {
		d.Reason = c.approval.ReasonText
	}
	s.decision = d
	switch {
	case !ans.Decision.Allows():
		s.text = c.refusalOf(d, denial(d))
		if d.By == byExpiredCaller {
			s.text = "not run: " + d.Reason
		}
	case given != nil && given.Actor == byInterrupt: // the recorded answer allows
		s.decision.By, s.text = byInterrupt, "not run: the turn was interrupted first"
	default:
		l.recheckAllowed(ctx, c, s)
	}
	refused := ans.Decision.Allows() && s.call == nil
	switch granted := l.a.shared.grantOf(c.approval.ID); {
	case !ans.Decision.Session() || c.approval.OnceOnly():
	case refused && granted != "": // the call does not run, so the grant of its answer is revoked
		s.change = &policy.Change{Revoke: granted, By: s.decision.By}
	case !refused && granted == "":
		l.makeGrant(c, s)
	}
	return s
}

// agree reports whether two answers have the same decision, scope and input.
func agree(a, b approval.Answer) bool {
	return a.Decision == b.Decision && a.Scope == b.Scope && bytes.Equal(jsonscan.Compact(a.Input), jsonscan.Compact(b.Input))
}

// denial returns the text that the model reads if the approver denies the call.
func denial(d policy.Decision) string {
	if d.Reason == "" {
		return "permission denied by the user"
	}
	return refusal(d)
}

// recheckAllowed checks that an allowed call has not changed since it was shown, and that the
// policy has not denied it since then.
func (l *loop) recheckAllowed(ctx context.Context, c *call, s *answerEffect) {
	refuse := func(by, why, text string) {
		s.decision.By, s.decision.Reason, s.text = by, why, text
	}
	if err := c.approval.Check(s.answer); err != nil { // another program may have recorded an invalid answer
		refuse("approval", err.Error(), "not run: the answer is invalid: "+err.Error())
		return
	}
	reqs, err := l.unchangedRequests(c)
	if err != nil {
		refuse("approval", err.Error(), "not run: the call changed after it was approved: "+err.Error())
		return
	}
	input := c.call.Input
	if s.recorded && s.answer.Input == nil && l.a.isPartlyMasked(reqs) {
		refuse("approval", hiddenReason, "not run: "+hiddenReason)
		return
	}
	if s.answer.Input != nil {
		input = jsonscan.Compact(s.answer.Input)
		answered := *c.call
		answered.Input, answered.OriginalInput = input, c.call.Input
		if reqs, err = l.requestsOf(c, answered); err != nil {
			refuse("approval", err.Error(), "not run: the approved input is invalid: "+err.Error())
			return
		}
		s.decision.Input = input
		l.refirePreToolUse(ctx, c, input)
	}
	if now := l.a.policyVersion(); s.answer.Input != nil || c.judged != now {
		// The current policy decides, whichever program gave the answer. The grant that this answer
		// creates does not apply to the answered call itself.
		d := l.decideWithout(ctx, l.a.shared.grantOf(c.approval.ID), c, reqs, input)
		switch {
		case d.Effect == policy.Deny:
			s.decision.Rule, s.decision.Contributions, s.decision.Stop = d.Rule, d.Contributions, d.Stop
			s.decision.Version, s.decision.Mode = d.Version, d.Mode
			refuse(d.By, d.Reason, refusal(d))
			return
		case d.AskReason == record.ReasonOverride && c.approval.Reason != record.ReasonOverride:
			refuse(d.By, "the session denied this kind of call while the approval was pending", "not run: the session denied this kind of call while the approval was pending")
			return
		case d.Input != nil && !bytes.Equal(jsonscan.Compact(d.Input), input):
			refuse(d.By, "the policy requires an input other than the approved one", "not run: a policy changed the approved input")
			return
		}
		s.decision.Contributions, s.decision.Version, s.decision.Mode = d.Contributions, d.Version, d.Mode
	}
	s.decision.Effect, s.decision.Digests = policy.Allow, digests(reqs)
	run := *c.call
	run.Input = input
	if s.answer.Input != nil {
		run.Resumed, run.OriginalInput = false, c.call.Input
	}
	s.call = &run
}

// unchangedRequests returns the requests of the call as the tool describes them now. If they differ
// from those that were shown, it returns an error that describes the difference.
func (l *loop) unchangedRequests(c *call) ([]policy.Request, error) {
	q := c.approval
	if c.tool == nil {
		return nil, errors.New("the tool is no longer available")
	}
	reqs, err := l.requests(c, c.call.Input)
	if err != nil || q.Matches(reqs) {
		return reqs, err
	}
	if l.a.inputErased(c) {
		return nil, errors.New(maskedReason)
	}
	if c.call.Resumed && len(q.Requests) > 0 { // a policy had changed the input
		asked := q.Requests[0].Input
		if again, err := l.requests(c, asked); err == nil && q.Matches(again) {
			c.call.Input = asked
			return again, nil
		}
	}
	if err := q.CheckUnchanged(reqs); err != nil {
		return nil, err
	}
	return nil, errors.New("the call would now do something else")
}

func digests(reqs []policy.Request) []string {
	list := make([]string, len(reqs))
	for i, r := range reqs {
		list[i] = r.Digest()
	}
	return list
}

// makeGrant creates the grant for a session decision. If that fails, the call is denied.
func (l *loop) makeGrant(c *call, s *answerEffect) {
	g, err := c.approval.Grant(s.answer)
	if err != nil {
		s.fail(err)
		return
	}
	s.change = &policy.Change{Grant: &g, By: s.answer.Actor}
}

func (s *answerEffect) fail(err error) {
	s.decision.Effect, s.decision.By = policy.Deny, "approval"
	s.decision.Reason = "the session-wide decision cannot be stored: " + err.Error()
	s.call, s.change, s.text = nil, nil, refusal(s.decision)
}

// commit records the effect of an answer in one batch, if the log's head is still head, and applies
// it.
func (l *loop) commit(ctx context.Context, head int64, c *call, s *answerEffect) error {
	if s.call == nil && s.decision.Effect == policy.Deny && c.nested == nil {
		s.text += l.firePermissionDenied(ctx, c, &s.decision)
	}
	entries, recs, err := l.recordEffect(ctx, head, c, s)
	if err != nil {
		return err
	}
	l.setAsked(nil)
	r := l.round
	c.decision = s.decision
	switch {
	case c.nested != nil:
		r.stop = r.stop || s.decision.Stop
		if s.call != nil {
			c.call = s.call
		}
		c.replyNested()
	case s.call != nil:
		c.call, c.note, r.ready = s.call, s.answer.Message, []*call{c}
	default:
		r.at++
		r.stop = s.decision.Stop
		if s.decision.By != byInterrupt && s.decision.By != byExpiredCaller {
			l.turn.res.Denials = append(l.turn.res.Denials, s.decision)
		}
	}
	if s.recorded {
		l.publish(event.ApprovalResolved{ID: c.approval.ID, Answer: s.answer, LateAnswer: s.late})
	}
	c.approval = nil
	if err := l.accept(entries, recs); err != nil {
		return err
	}
	l.emitChanges()
	return nil
}

func (l *loop) recordEffect(ctx context.Context, head int64, c *call, s *answerEffect) ([]entry, []session.Record, error) {
	r := l.a.shared
	r.changeMu.Lock()
	defer r.changeMu.Unlock()
	if s.change != nil {
		checked, err := l.a.rootAgent().guards.Check(*s.change)
		switch {
		case s.change.Revoke != "" && err != nil: // already revoked
			s.change = nil
		case err != nil:
			s.fail(err)
		case checked.Grant != nil:
			s.decision.Grant = checked.Grant.ID
			fallthrough
		default:
			s.change = &checked
		}
	}
	hookEntries := c.hooks.entries
	entries, err := l.answerEntries(c, s)
	if err != nil {
		return nil, nil, err
	}
	recs, err := l.store(ctx, &head, entries)
	switch {
	case err != nil:
		c.hooks.entries = hookEntries // for the next attempt
	case s.change != nil:
		err = r.applyChange(*s.change, 0)
	}
	return entries, recs, err
}

// answerEntries returns the records of an answer's effect.
func (l *loop) answerEntries(c *call, s *answerEffect) ([]entry, error) {
	var entries []entry
	add := func(k session.Kind, payload any, e event.Event) error {
		d, err := session.NewDraft(k, payload)
		entries = append(entries, entry{draft: d, event: e})
		return err
	}
	if !s.recorded {
		if err := add(record.KindApprovalResolved, s.answer, event.ApprovalResolved{ID: c.approval.ID, Answer: s.answer}); err != nil {
			return nil, err
		}
	}
	if c.nested != nil {
		if err := add(record.KindDecision, s.decision, event.DecisionMade{Decision: s.decision}); err != nil {
			return nil, err
		}
	} else if s.call != nil {
		more, err := startEntries(c, s.decision, s.call)
		if err != nil {
			return nil, err
		}
		entries = append(entries, more...)
	} else {
		entries = append(entries, c.hooks.takeEntries()...)
		if err := add(record.KindDecision, s.decision, event.DecisionMade{Decision: s.decision}); err != nil {
			return nil, err
		}
		c.result = tool.Failure(s.text)
		c.addContext()
		e, err := l.resultItem(c)
		if err != nil {
			return nil, err
		}
		entries = append(entries, itemEntry(e, nil))
	}
	if s.change != nil {
		if err := add(record.KindPolicyChanged, *s.change, nil); err != nil {
			return nil, err
		}
	}
	return entries, nil
}
