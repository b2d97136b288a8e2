package api

import (
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/outcome"
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

func states() []string {
	return []string{string(StatePending), string(StateApproved), string(StateDenied), string(StateExpired), string(StateCancelled)}
}

// Approval is a question, and its answer when it has one.
type Approval struct {
	approval.Question
	State  State            `json:"state" jsonschema:"pending, approved, denied, expired or cancelled"`
	Answer *approval.Answer `json:"answer,omitempty"`
	RunID  string           `json:"run_id" jsonschema:"the session of the run that asks: that of the question, or of the run that its agent works for"`
	Run    string           `json:"run,omitempty" jsonschema:"status of the run"`
	Title  string           `json:"title,omitempty" jsonschema:"of the run's session"`
}

// Decision answers a question. The daemon records as its author whom it takes the caller for.
type Decision struct {
	Decision approval.Decision `json:"decision" jsonschema:"allow, deny, allow-session or deny-session"`
	Scope    string            `json:"scope,omitempty" jsonschema:"of a decision for the session: a rule; left out: exactly the request"`
	Message  string            `json:"message,omitempty" jsonschema:"told to the model"`
	Stop     bool              `json:"stop,omitempty" jsonschema:"with a deny: end the turn as well"`
	Input    json.RawMessage   `json:"input,omitempty" jsonschema:"with a plain allow: run with this input instead; it is judged again. Of a form: {content}"`
	Digest   string            `json:"digest,omitempty" jsonschema:"of the question as it was shown; refused when it is another question's"`
	Continue bool              `json:"continue,omitempty" jsonschema:"continue the run when it was interrupted: an answer alone starts nothing; needs the scope run, too"`
}

func approvalRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/approvals", ID: "listApprovals", Tag: "approvals",
			Doc: "Questions, oldest first. With Accept: text/event-stream the pending ones of all sessions, whole, at once and " +
				"whenever they change: event approvals, data {items}.",
			Scope: ScopeRead, Response: Page[Approval]{}, Types: []string{EventStream}, Problems: one(outcome.Unavailable),
			Query: paged(
				Param{Name: "state", Doc: "default pending; anything else is for one session", Enum: append(states(), "all")},
				Param{Name: "session", Doc: "only of this session and of those that work for its run"},
			),
		},
		{
			Method: http.MethodGet, Path: "/v1/approvals/{id}", ID: "getApproval", Tag: "approvals", Doc: "One question.",
			Scope: ScopeRead, Response: Approval{}, Problems: one(),
			Query: []Param{{Name: "session", Doc: "where it was asked; saves a search of all sessions for one that is answered"}},
		},
		{
			Method: http.MethodPost, Path: "/v1/approvals/{id}/decision", ID: "decideApproval", Tag: "approvals",
			Doc: "Answers a question. The first answer counts: the same again is fine, another answer is a problem with " +
				"the winner. The author of the answer is the caller as the daemon knows it.",
			Scope: ScopeApprove, Body: Decision{}, Response: Approval{}, Problems: one(outcome.Approval),
		},
	}
}
