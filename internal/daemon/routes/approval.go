package routes

import (
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// The states of a question.
const (
	StatePending   api.ApprovalState = "pending"
	StateApproved  api.ApprovalState = "approved"
	StateDenied    api.ApprovalState = "denied"
	StateExpired   api.ApprovalState = "expired"
	StateCancelled api.ApprovalState = "cancelled"
)

func states() []string {
	return []string{string(StatePending), string(StateApproved), string(StateDenied), string(StateExpired), string(StateCancelled)}
}

func approvalRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/approvals", ID: "listApprovals", Tag: "approvals",
			Doc: "Questions, oldest first. With Accept: text/event-stream the pending ones of all sessions, whole, at once and " +
				"whenever they change: event approvals, data {items}.",
			Scope: api.ScopeRead, Response: api.Page[api.Approval]{}, Types: []string{EventStream}, Problems: one(outcome.Unavailable),
			Query: paged(
				Param{Name: "state", Doc: "default pending; anything else is for one session", Enum: append(states(), "all")},
				Param{Name: "session", Doc: "only of this session and of those that work for its run"},
			),
		},
		{
			Method: http.MethodGet, Path: "/v1/approvals/{id}", ID: "getApproval", Tag: "approvals", Doc: "One question.",
			Scope: api.ScopeRead, Response: api.Approval{}, Problems: one(),
			Query: []Param{{Name: "session", Doc: "where it was asked; saves a search of all sessions for one that is answered"}},
		},
		{
			Method: http.MethodPost, Path: "/v1/approvals/{id}/decision", ID: "decideApproval", Tag: "approvals",
			Doc: "Answers a question. The first answer counts: the same again is fine, another answer is a problem with " +
				"the winner. The author of the answer is the caller as the daemon knows it.",
			Scope: api.ScopeApprove, Body: api.Decision{}, Response: api.Approval{}, Problems: one(outcome.Approval),
		},
	}
}
