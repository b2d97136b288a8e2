package audit

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
)

// approvalState is an approval request and its answer, if there is one.
type approvalState struct {
	id, use, tool string
	behalf        string
	resources     []Resource
	requests      []string
	answer        *approval.Answer
}

func (r *reader) approvalAsked(payload json.RawMessage, e *Entry) error {
	var q approval.Request
	if err := json.Unmarshal(payload, &q); err != nil {
		return err
	}
	a := approvalState{id: q.ID, use: q.Use, tool: q.Tool, behalf: r.behalf(q.Agent)}
	for _, req := range q.Requests {
		a.resources = append(a.resources, Resource{string(req.Operation), req.Resource})
		a.requests = append(a.requests, req.Digest())
	}
	e.Action, e.OnBehalfOf, e.Question, e.Use, e.Tool = string(policy.Ask), a.behalf, q.ID, q.Use, q.Tool
	e.Actor = linkActor(q.AskedBy, q.Rule, "")
	e.Resources, e.Requests, e.Rule, e.Mode, e.Reason, e.Sandbox = a.resources, a.requests, q.Rule, string(q.Mode), q.ReasonText, q.Sandbox
	for id, old := range r.approvals { // the same approval request was made again
		if old.use == q.Use && old.tool == q.Tool {
			delete(r.approvals, id)
		}
	}
	r.approvals[q.ID] = a
	return nil
}

// approvalResolved processes the answer to an approval request. The first answer wins.
func (r *reader) approvalResolved(payload json.RawMessage, e *Entry) error {
	var ans approval.Answer
	if err := json.Unmarshal(payload, &ans); err != nil {
		return err
	}
	q := r.approvals[ans.RequestID]
	e.Action, e.Outcome, e.Question, e.Reason = actionAnswer, string(ans.Decision), ans.RequestID, ans.Message
	e.Actor = whoAnswered(ans.Actor, ans.Via)
	e.Use, e.Tool, e.Resources, e.Requests = q.use, q.tool, q.resources, q.requests
	if q.behalf != "" {
		e.OnBehalfOf = q.behalf
	}
	if ans.Scope != "" {
		e.Resources = append([]Resource{{Operation: "scope", Name: ans.Scope}}, e.Resources...)
	}
	if q.id != "" && q.answer == nil {
		q.answer = &ans
		r.approvals[q.id] = q
	}
	return nil
}

// approvalOf finds the approval request for a call.
func (r *reader) approvalOf(d *policy.Decision) (approvalState, bool) {
	for _, q := range r.approvals {
		if q.use == d.Use && q.tool == d.Tool {
			return q, true
		}
	}
	return approvalState{}, false
}

// behalf returns on whose behalf a call runs: the account, and the agent unless it is the main one.
func (r *reader) behalf(agent string) string {
	switch {
	case agent == "":
		return r.user
	case r.user == "":
		return fmt.Sprintf("(%s)", agent)
	}
	return fmt.Sprintf("%s (%s)", r.user, agent)
}

// whoDecided returns the actor of a decision about a call. If an approval was requested, the actor
// is the approver. If a link of the chain denied the call after the approver had allowed it, the
// actor is that link.
func (r *reader) whoDecided(d *policy.Decision) Actor {
	if !d.PersonAsked {
		return linkActor(d.By, d.Rule, d.Grant)
	}
	q, ok := r.approvalOf(d)
	if ok && q.answer != nil && cmp.Or(q.answer.Actor, person) == d.By && q.answer.Decision.Allows() == (d.Effect == policy.Allow) {
		return whoAnswered(q.answer.Actor, q.answer.Via)
	}
	for _, s := range d.Contributions {
		if s.Policy == d.By && s.Effect == policy.Deny && d.Effect == policy.Deny {
			return linkActor(d.By, d.Rule, "")
		}
	}
	return whoAnswered(d.By, "")
}
