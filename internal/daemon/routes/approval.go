package routes

import (
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// The states of an approval.
const (
	StatePending   api.ApprovalState = "pending"
	StateApproved  api.ApprovalState = "approved"
	StateDenied    api.ApprovalState = "denied"
	StateExpired   api.ApprovalState = "expired"
	StateCancelled api.ApprovalState = "cancelled"
)

func approvalStates() []string {
	return []string{string(StatePending), string(StateApproved), string(StateDenied), string(StateExpired), string(StateCancelled)}
}

func approvalRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/approvals", ID: "listApprovals", Tag: "approvals",
			Doc: "Lists approvals, oldest first. With Accept: text/event-stream, sends the complete list of pending approvals of all sessions at once and " +
				"after every change: event approvals, data {items}.",
			Scope: api.ScopeRead, Response: api.Page[api.Approval]{}, Types: []string{EventStream}, Problems: orNotFound(outcome.Unavailable),
			Query: paged(
				Param{Name: "state", Doc: "default: pending; other values need session", Enum: append(approvalStates(), "all")},
				Param{Name: "session", Doc: "only approvals of this session and of its run's sub-agents"},
			),
		},
		{
			Method: http.MethodGet, Path: "/v1/approvals/{id}", ID: "getApproval", Tag: "approvals", Doc: "Returns one approval.",
			Scope: api.ScopeRead, Response: api.Approval{}, Problems: orNotFound(),
			Query: []Param{{Name: "session", Doc: "session of the approval; avoids a search of all sessions for an answered approval"}},
		},
		{
			Method: http.MethodPost, Path: "/v1/approvals/{id}/decision", ID: "decideApproval", Tag: "approvals",
			Doc: "Answers an approval. The first answer is final: repeating it succeeds, a different answer is a problem with " +
				"the first answer as its winner. The authenticated caller is recorded as the author.",
			Scope: api.ScopeApprove, Body: api.Decision{}, Response: api.Approval{}, Problems: orNotFound(outcome.Approval),
		},
	}
}
