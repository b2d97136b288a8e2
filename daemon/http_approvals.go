package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// State is where a question stands.
type State string

// The states of a question.
const (
	StatePending   State = "pending"
	StateApproved  State = "approved"
	StateDenied    State = "denied"
	StateExpired   State = "expired"   // its time ran out
	StateCancelled State = "cancelled" // its run ended without an answer
)

// Approval is a question as the interface shows it.
type Approval struct {
	approval.Question
	State  State            `json:"state" jsonschema:"pending, approved, denied, expired or cancelled"`
	Answer *approval.Answer `json:"answer,omitempty"`
	RunID  string           `json:"run_id" jsonschema:"the session of the run that asks: that of the question, or of the run that its agent works for"`
	Run    string           `json:"run,omitempty" jsonschema:"status of the run"`
	Title  string           `json:"title,omitempty" jsonschema:"of the run's session"`
}

func (a *api) approvalRoutes() []route {
	one := []outcome.Outcome{outcome.NotFound}
	return []route{
		{
			method: http.MethodGet, path: "/v1/approvals", id: "listApprovals", tag: "approvals",
			doc: "Questions, oldest first. With Accept: text/event-stream the pending ones of all sessions, whole, at once and " +
				"whenever they change: event approvals, data {items}.",
			scope: auth.Read, answer: listOf[Approval]{}, types: []string{eventStream}, problems: append(one, outcome.Unavailable),
			serve: a.listApprovals,
			query: paged(
				param{
					name: "state", doc: "default pending; anything else is for one session",
					oneOf: []string{
						string(StatePending), "all", string(StateApproved), string(StateDenied), string(StateExpired), string(StateCancelled),
					},
				},
				param{name: "session", doc: "only of this session and of those that work for its run"},
			),
		},
		{
			method: http.MethodGet, path: "/v1/approvals/{id}", id: "getApproval", tag: "approvals", doc: "One question.",
			scope: auth.Read, answer: Approval{}, problems: one, serve: a.getApproval,
			query: []param{{name: "session", doc: "where it was asked; saves reading all sessions for one that is answered"}},
		},
		{
			method: http.MethodPost, path: "/v1/approvals/{id}/decision", id: "decideApproval", tag: "approvals",
			doc: "Answers a question. Who was first has answered: the same again is fine, another answer is a problem with " +
				"the winner. What answers is the caller; what it calls itself is not asked.",
			scope: auth.Approve, body: decisionRequest{}, answer: Approval{}, problems: append(one, outcome.Approval), serve: a.decide,
			again: func(c *call, _ *kept) error { return a.getApproval(c) },
		},
	}
}

// homes remembers the runs of sessions while a list is made.
type homes map[string]session.Meta

// show adds to a question where it stands and whose it is.
func (a *api) show(ctx context.Context, q approval.Question, ans *approval.Answer, known homes) (Approval, error) {
	out := Approval{Question: q, Answer: ans, State: a.stateOf(q, ans), RunID: q.Session}
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

func (h homes) get(ctx context.Context, s *session.Sessions, id string) (session.Meta, error) {
	if m, ok := h[id]; ok {
		return m, nil
	}
	m, err := s.Get(ctx, id)
	if err == nil {
		h[id] = m
	}
	return m, err
}

func (a *api) stateOf(q approval.Question, ans *approval.Answer) State {
	switch {
	case ans == nil && q.Expires != nil && !a.o.Sessions.Now().Before(*q.Expires):
		return StateExpired
	case ans == nil:
		return StatePending
	case ans.Decision.Allows():
		return StateApproved
	case ans.By == "timeout":
		return StateExpired
	case ans.By == "nobody":
		return StateCancelled
	}
	return StateDenied
}

func (a *api) listApprovals(c *call) error {
	of := c.query["session"]
	if of != "" {
		if _, err := a.o.Sessions.Get(c.ctx(), of); err != nil {
			return err
		}
	}
	state := c.query["state"]
	if c.accepts(eventStream) {
		if len(c.query) > 0 && (len(c.query) > 1 || state != string(StatePending)) {
			return refuse(outcome.Usage, "the stream tells the pending questions of all sessions", "leave the query out")
		}
		return a.streamApprovals(c)
	}
	var list []Approval
	var err error
	switch {
	case state == "" || state == string(StatePending):
		list, err = a.pending(c.ctx(), of)
	case of == "":
		return refuse(outcome.Usage, "state "+state+" is for one session", "session=ID")
	default:
		list, err = a.asked(c.ctx(), of)
		list = slices.DeleteFunc(list, func(q Approval) bool { return state != "all" && string(q.State) != state })
	}
	if err != nil {
		return err
	}
	return pageOf(c, list)
}

// pageOf cuts a page out of the whole list of questions.
func pageOf(c *call, list []Approval) error {
	place := func(q *Approval) string {
		return q.AskedAt.UTC().Format("2006-01-02T15:04:05.000000000Z") + " " + q.Session + " " + q.ID
	}
	slices.SortFunc(list, func(x, y Approval) int { return strings.Compare(place(&x), place(&y)) })
	after, err := c.after()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(q Approval) bool { return place(&q) <= after })
	out := listOf[Approval]{Items: append([]Approval{}, list...)}
	if limit := c.limit(defaultLimit); len(list) > limit {
		out.Items = out.Items[:limit]
		out.Next = c.cursor(place(&out.Items[limit-1]))
	}
	return c.json(out)
}

// pending lists the questions that can be answered. Those of a log that is damaged
// are left out: `sessions verify` names it.
func (a *api) pending(ctx context.Context, of string) ([]Approval, error) {
	pending := approval.PendingOf
	if of == "" {
		pending = approval.Pending
	}
	open, err := pending(ctx, a.o.Sessions, of)
	if err != nil && len(open) == 0 && !errors.Is(err, session.ErrCorrupt) {
		return nil, err
	}
	if err != nil {
		a.log.WarnContext(ctx, "not all questions can be read", "error", err)
	}
	list, known := []Approval{}, homes{}
	for _, q := range open {
		s, err := a.show(ctx, q, nil, known)
		if err != nil {
			return nil, err
		}
		if s.State == StatePending {
			list = append(list, s)
		}
	}
	return list, nil
}

// asked lists all questions of a session, from its own records.
func (a *api) asked(ctx context.Context, of string) ([]Approval, error) {
	m, err := a.o.Sessions.Get(ctx, of)
	if err != nil {
		return nil, err
	}
	var questions []approval.Question
	answers := map[string]*approval.Answer{}
	for r, err := range a.o.Sessions.Records(ctx, m.ID, session.Range{After: m.ParentSeq, Until: m.Head}) {
		if errors.Is(err, session.ErrCorrupt) || err == nil && r.Payload == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch r.Kind {
		case session.KindApprovalAsked:
			var q approval.Question
			if json.Unmarshal(r.Payload, &q) == nil {
				q.Session = m.ID
				questions = append(questions, q)
			}
		case session.KindApprovalResolved:
			ans := new(approval.Answer)
			if json.Unmarshal(r.Payload, ans) == nil && answers[ans.Question] == nil {
				answers[ans.Question] = ans
			}
		}
	}
	list, known := []Approval{}, homes{m.ID: m}
	for _, q := range questions {
		s, err := a.show(ctx, q, answers[q.ID], known)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// find is the question of the path, and its answer.
func (a *api) find(c *call) (approval.Question, *approval.Answer, error) {
	id := c.path("id")
	none := refuse(outcome.NotFound, "there is no question "+id, "GET /v1/approvals lists those that wait")
	if of := c.query["session"]; of != "" {
		list, err := a.asked(c.ctx(), of)
		if err != nil {
			return approval.Question{}, nil, err
		}
		i := slices.IndexFunc(list, func(q Approval) bool { return q.ID == id })
		if i < 0 {
			return approval.Question{}, nil, none
		}
		return list[i].Question, list[i].Answer, nil
	}
	q, ans, err := approval.Find(c.ctx(), a.o.Sessions, id)
	if errors.Is(err, approval.ErrNoQuestion) || err == nil && q.ID != id { // only a person types beginnings
		return q, nil, none
	}
	return q, ans, err
}

func (a *api) getApproval(c *call) error {
	q, ans, err := a.find(c)
	if err != nil {
		return err
	}
	out, err := a.show(c.ctx(), q, ans, homes{})
	if err != nil {
		return err
	}
	return c.json(out)
}

type decisionRequest struct {
	Decision approval.Decision `json:"decision" jsonschema:"allow, deny, allow-session or deny-session"`
	Scope    string            `json:"scope,omitempty" jsonschema:"of a decision for the session: a rule; exactly the request otherwise"`
	Message  string            `json:"message,omitempty" jsonschema:"told to the model"`
	Stop     bool              `json:"stop,omitempty" jsonschema:"with a deny: end the turn as well"`
	Input    json.RawMessage   `json:"input,omitempty" jsonschema:"with a plain allow: run with this input instead; it is judged again. Of a form: {content}"`
	Digest   string            `json:"digest,omitempty" jsonschema:"of the question as it was shown; another one is refused"`
	Continue bool              `json:"continue,omitempty" jsonschema:"continue the run when it was interrupted: an answer alone starts nothing; needs the scope run, too"`
}

func (a *api) decide(c *call) error {
	var d decisionRequest
	if err := c.into(&d); err != nil {
		return err
	}
	if d.Continue && !c.caller.May(auth.Run) {
		return refuse(outcome.Forbidden, "the scope run is needed to continue a run", "leave continue out, or: holdfast daemon token create --scope approve,run")
	}
	q, _, err := a.find(c)
	if err != nil {
		return err
	}
	if d.Digest != "" && d.Digest != q.Digest {
		return refuse(outcome.Approval, "the digest is not that of question "+q.ID+": something else was shown", "GET /v1/approvals/"+q.ID+" and look again")
	}
	by := c.actor()
	won, err := a.o.Runs.Decide(c.ctx(), "", approval.Answer{
		Question: q.ID, Decision: d.Decision, Scope: d.Scope, Message: a.redact(d.Message), Stop: d.Stop, Input: d.Input,
		By: by.Name, Via: by.Via, At: a.o.Sessions.Now().UTC().Truncate(time.Millisecond),
	}, d.Digest)
	if err != nil {
		return err
	}
	out, err := a.show(c.ctx(), q, &won, homes{})
	if err == nil && d.Continue {
		if err = a.goOnAfter(c, out.RunID); err == nil {
			out, err = a.show(c.ctx(), q, &won, homes{})
		}
	}
	if err != nil {
		return err
	}
	return c.json(out)
}

// goOnAfter continues a run that was interrupted, whose question has its answer.
func (a *api) goOnAfter(c *call, run string) error {
	info, err := a.o.Runs.Get(c.ctx(), run)
	if err == nil && info.Status == wire.Interrupted {
		err = a.o.Runs.Continue(c.ctx(), run, "", "", c.actor())
	}
	if err != nil {
		return fmt.Errorf("the answer is on record, but the run does not go on: %w", err)
	}
	return nil
}
