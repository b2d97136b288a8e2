package agent

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// judge decides about a call: every request of the call is put to the policy and
// then to the mode; any deny denies, any ask asks, otherwise it is allowed.
func (l *loop) judge(c *call) {
	mode := l.a.Mode()
	d := policy.Decision{Use: c.use.ID, Tool: c.use.Name, Mode: mode, Effect: policy.Allow, By: "mode " + string(mode)}
	reqs, err := c.tool.Requests(c.call)
	if err != nil {
		// The tool will say the same when it is run, as an error result that
		// tells the model what to mend. It touches nothing on the way.
		d.By, d.Reason = "input", err.Error()
		c.decision = d
		return
	}
	for i := range reqs {
		reqs[i].Session, reqs[i].Tool = l.opened.ID, c.use.Name
		if reqs[i].Input == nil {
			reqs[i].Input = c.use.Input
		}
		d.Digests = append(d.Digests, reqs[i].Digest())
		l.judgeRequest(&d, reqs[i], mode)
	}
	if d.Effect == policy.Ask {
		c.question = &Question{Use: c.use.ID, Tool: c.use.Name, Requests: reqs, Reason: d.Reason, Mode: mode}
	}
	c.decision = d
}

func (l *loop) judgeRequest(d *policy.Decision, r policy.Request, mode policy.Mode) {
	said := policy.Said{Policy: "policy", Resource: r.Resource}
	if p := l.a.opt.Policy; p != nil {
		said.Verdict = p.Evaluate(r)
		d.Said = append(d.Said, said)
	}
	if said.Effect == policy.None {
		said.Policy, said.Verdict = "mode "+string(mode), mode.Evaluate(r)
		d.Said = append(d.Said, said)
	}
	if weight(said.Effect) > weight(d.Effect) {
		d.Effect, d.By, d.Reason = said.Effect, said.Policy, said.Reason
	}
}

// weight orders effects: deny over ask over allow.
func weight(e policy.Effect) int {
	switch e {
	case policy.Deny:
		return 2
	case policy.Ask:
		return 1
	}
	return 0
}

// approvalAsked and approvalResolved are the payloads of the approval records.
type approvalResolved struct {
	ID       string `json:"id"`
	Decision string `json:"decision"` // allow or deny
	By       string `json:"by,omitempty"`
	Message  string `json:"message,omitempty"`
}

// putQuestion records the question and leaves the call waiting.
func (l *loop) putQuestion(c *call) ([]entry, error) {
	c.question.ID = l.a.opt.NewID()
	d, err := session.NewDraft(session.KindApprovalAsked, c.question)
	if err != nil {
		return nil, err
	}
	l.a.mu.Lock()
	l.round.asked, l.a.asking = c, true
	l.a.mu.Unlock()
	return []entry{{draft: d, event: ApprovalAsked{Question: *c.question}}}, nil
}

// ask puts a question to whoever answers. Nobody there, or a failure: no.
func (l *loop) ask(ctx context.Context, q Question) Answer {
	if l.a.opt.Ask == nil {
		return Answer{By: "nobody", Message: "nobody is there to ask (" + q.Reason + ")"}
	}
	ans, err := l.a.opt.Ask(ctx, q)
	if err != nil {
		return Answer{By: "nobody", Message: "the question could not be answered: " + err.Error()}
	}
	return ans
}

// resolve takes an answer: on a yes the call is started, on a no it is refused
// and the next one is looked at.
func (l *loop) resolve(ctx context.Context, id string, ans Answer) error {
	r := l.round
	if r == nil || r.asked == nil || r.asked.question.ID != id {
		return ErrNoQuestion
	}
	c := r.asked
	first, err := l.resolved(c, ans)
	if err != nil {
		return err
	}
	entries := []entry{first}
	c.decision.Asked = true
	c.decision.By = "person"
	if ans.By != "" {
		c.decision.By = ans.By
	}
	var more []entry
	if ans.Allow {
		c.decision.Effect = policy.Allow
		r.ready = []*call{c}
		more, err = startEntries(c)
	} else {
		c.decision.Effect, c.decision.Reason, r.stop = policy.Deny, ans.Message, ans.Stop
		more, err = l.refuse(c, denial(ans), true)
		if err == nil && !ans.Stop {
			var next []entry
			next, err = l.plan(ctx)
			more = append(more, next...)
		}
	}
	if err != nil {
		return err
	}
	if err := l.write(ctx, append(entries, more...)...); err != nil {
		l.broken = err
		return err
	}
	return nil
}

func denial(ans Answer) string {
	if ans.Message == "" {
		return "permission denied by the user"
	}
	return "permission denied: " + ans.Message
}

// resolved records an answer and takes the question off the round.
func (l *loop) resolved(c *call, ans Answer) (entry, error) {
	p := approvalResolved{ID: c.question.ID, Decision: "deny", By: ans.By, Message: ans.Message}
	if ans.Allow {
		p.Decision = "allow"
	}
	d, err := session.NewDraft(session.KindApprovalResolved, p)
	if err != nil {
		return entry{}, fmt.Errorf("agent: approval: %w", err)
	}
	l.a.mu.Lock()
	l.round.asked, l.a.asking = nil, false
	l.a.mu.Unlock()
	return entry{draft: d, event: ApprovalResolved{ID: c.question.ID, Answer: ans}}, nil
}
