package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/session"
)

func (a *service) approvalHandlers() map[string]func(*call) error {
	return map[string]func(*call) error{
		"listApprovals":  a.listApprovals,
		"getApproval":    a.getApproval,
		"decideApproval": a.decide,
	}
}

// runSessionCache caches the runs that sessions belong to, while a list is built.
type runSessionCache map[string]session.Meta

// apiApproval returns an approval in the format of the API, with its state and its run.
func (a *service) apiApproval(ctx context.Context, q approval.Request, ans *approval.Answer, known runSessionCache) (api.Approval, error) {
	out := api.Approval{Request: q, Answer: ans, State: a.stateOf(q, ans), RunID: q.Session}
	m, err := known.get(ctx, a.o.Sessions, q.Session)
	if err == nil && m.Owner != "" {
		out.RunID = m.Owner
		m, err = known.get(ctx, a.o.Sessions, m.Owner)
	}
	if errors.Is(err, session.ErrNotFound) {
		return out, nil
	}
	out.Run, out.Title = m.Run, m.Title
	if out.Title == "" {
		out.Title = m.FirstPrompt
	}
	return out, err
}

func (h runSessionCache) get(ctx context.Context, s *session.Sessions, id string) (session.Meta, error) {
	if m, ok := h[id]; ok {
		return m, nil
	}
	m, err := s.Get(ctx, id)
	if err == nil {
		h[id] = m
	}
	return m, err
}

func (a *service) stateOf(q approval.Request, ans *approval.Answer) api.ApprovalState {
	switch {
	case ans == nil && q.Expires != nil && !a.o.Sessions.Now().Before(*q.Expires):
		return routes.StateExpired
	case ans == nil:
		return routes.StatePending
	case ans.Decision.Allows():
		return routes.StateApproved
	case ans.Actor == "timeout":
		return routes.StateExpired
	case ans.Actor == "nobody":
		return routes.StateCancelled
	}
	return routes.StateDenied
}

func (a *service) listApprovals(c *call) error {
	of := c.query["session"]
	if of != "" {
		if _, err := a.o.Sessions.Get(c.ctx(), of); err != nil {
			return err
		}
	}
	state := c.query["state"]
	if c.accepts(routes.EventStream) {
		if len(c.query) > 0 && (len(c.query) > 1 || state != string(routes.StatePending)) {
			return refuse(outcome.Usage, "the stream always sends the pending approvals of all sessions", "omit the query")
		}
		return a.streamApprovals(c)
	}
	var list []api.Approval
	var err error
	switch {
	case state == "" || state == string(routes.StatePending):
		list, err = a.pendingApprovals(c.ctx(), of)
	case of == "":
		return refuse(outcome.Usage, "state "+state+" needs a session", "add session=ID")
	default:
		list, err = a.allApprovals(c.ctx(), of)
		list = slices.DeleteFunc(list, func(q api.Approval) bool { return state != "all" && string(q.State) != state })
	}
	if err != nil {
		return err
	}
	return writeApprovalPage(c, list)
}

// writeApprovalPage answers with one page of the complete list of approvals.
func writeApprovalPage(c *call, list []api.Approval) error {
	position := func(q *api.Approval) string {
		return q.AskedAt.UTC().Format("2006-01-02T15:04:05.000000000Z") + " " + q.Session + " " + q.ID
	}
	slices.SortFunc(list, func(x, y api.Approval) int { return strings.Compare(position(&x), position(&y)) })
	after, err := c.after()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(q api.Approval) bool { return position(&q) <= after })
	out := api.Page[api.Approval]{Items: append([]api.Approval{}, list...)}
	if limit := c.limit(); len(list) > limit {
		out.Items = out.Items[:limit]
		out.Next = c.cursor(position(&out.Items[limit-1]))
	}
	return c.json(out)
}

// pendingApprovals lists the approvals that can be answered. Those of a damaged log are omitted; `sessions
// verify` names the log.
func (a *service) pendingApprovals(ctx context.Context, of string) ([]api.Approval, error) {
	open, err := runlog.Pending(ctx, a.o.Sessions, of)
	if err != nil && len(open) == 0 && !errors.Is(err, session.ErrCorrupt) {
		return nil, err
	}
	if err != nil {
		a.log.WarnContext(ctx, "cannot read all approvals", "error", err)
	}
	list, known := []api.Approval{}, runSessionCache{}
	for _, q := range open {
		s, err := a.apiApproval(ctx, q, nil, known)
		if err != nil {
			return nil, err
		}
		if s.State == routes.StatePending {
			s.SavePreview = a.savePreview(ctx, &s.Request)
			list = append(list, s)
		}
	}
	return list, nil
}

// allApprovals lists all approvals of a session, from its own records.
func (a *service) allApprovals(ctx context.Context, of string) ([]api.Approval, error) {
	m, err := a.o.Sessions.Get(ctx, of)
	if err != nil {
		return nil, err
	}
	var questions []approval.Request
	answers := map[string]*approval.Answer{}
	for r, err := range a.o.Sessions.Records(ctx, m.ID, session.Range{After: m.ParentSeq, Until: m.Head}) {
		if errors.Is(err, session.ErrCorrupt) || err == nil && r.Payload == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch r.Kind {
		case record.KindApprovalAsked:
			var q approval.Request
			if json.Unmarshal(r.Payload, &q) == nil {
				q.Session = m.ID
				questions = append(questions, q)
			}
		case record.KindApprovalResolved:
			ans := new(approval.Answer)
			if json.Unmarshal(r.Payload, ans) == nil && answers[ans.RequestID] == nil {
				answers[ans.RequestID] = ans
			}
		}
	}
	list, known := []api.Approval{}, runSessionCache{m.ID: m}
	for _, q := range questions {
		s, err := a.apiApproval(ctx, q, answers[q.ID], known)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// findApproval returns the approval in the path. It also returns the approval's answer.
func (a *service) findApproval(c *call) (approval.Request, *approval.Answer, error) {
	id := c.path("id")
	notFound := refuse(outcome.NotFound, "no approval "+id, "GET /v1/approvals lists the pending ones")
	if of := c.query["session"]; of != "" {
		list, err := a.allApprovals(c.ctx(), of)
		if err != nil {
			return approval.Request{}, nil, err
		}
		i := slices.IndexFunc(list, func(q api.Approval) bool { return q.ID == id })
		if i < 0 {
			return approval.Request{}, nil, notFound
		}
		return list[i].Request, list[i].Answer, nil
	}
	q, ans, err := approval.Find(c.ctx(), a.o.Sessions, id)
	if errors.Is(err, approval.ErrNoRequest) || err == nil && q.ID != id { // the API accepts only complete ids
		return q, nil, notFound
	}
	return q, ans, err
}

func (a *service) getApproval(c *call) error {
	q, ans, err := a.findApproval(c)
	if err != nil {
		return err
	}
	out, err := a.apiApproval(c.ctx(), q, ans, runSessionCache{})
	if err != nil {
		return err
	}
	if out.State == routes.StatePending {
		out.SavePreview = a.savePreview(c.ctx(), &out.Request)
	}
	return c.json(out)
}

func (a *service) decide(c *call) error {
	var d api.Decision
	if err := c.into(&d); err != nil {
		return err
	}
	if d.Continue && !c.caller.HasScope(api.ScopeRun) {
		return refuse(outcome.Forbidden, "continuing a run needs the scope run", "omit continue, or run:  holdfast daemon token create --scope approve,run")
	}
	q, _, err := a.findApproval(c)
	if err != nil {
		return err
	}
	if d.Digest != "" && d.Digest != q.Digest {
		return refuse(outcome.Approval, "the digest does not match approval "+q.ID, "GET /v1/approvals/"+q.ID+" and show it again")
	}
	by := c.actor()
	ans := approval.Answer{
		RequestID: q.ID, Decision: d.Decision, Scope: d.Scope, SaveTo: d.SaveTo, Message: a.redact(d.Message), Stop: d.Stop, Input: d.Input,
		Actor: by.Name, Via: by.Via, At: a.o.Sessions.Now().UTC().Truncate(time.Millisecond),
	}
	plan, err := a.o.planSave(c.ctx(), c.caller, &q, &ans)
	if err != nil {
		return err
	}
	won, err := a.o.Runs.Decide(c.ctx(), "", ans, d.Digest)
	if err != nil {
		return err
	}
	written, err := saveRule(plan)
	if err != nil {
		return err
	}
	out, err := a.apiApproval(c.ctx(), q, &won, runSessionCache{})
	out.Saved = written
	if err == nil && d.Continue {
		if err = a.continueAfterAnswer(c, out.RunID); err == nil {
			out, err = a.apiApproval(c.ctx(), q, &won, runSessionCache{})
			out.Saved = written
		}
	}
	if err != nil {
		return err
	}
	return c.json(out)
}

// continueAfterAnswer continues an interrupted run after its approval was answered.
func (a *service) continueAfterAnswer(c *call, run string) error {
	info, err := a.o.Runs.Get(c.ctx(), run)
	if err == nil && info.Status == api.StatusInterrupted {
		err = a.o.Runs.Continue(c.ctx(), run, "", "", c.actor())
	}
	if err != nil {
		return fmt.Errorf("the answer was recorded, but the run could not continue: %w", err)
	}
	return nil
}
