package routes

import (
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
)

func policyRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/sessions/{id}/policy", ID: "getSessionPolicy", Tag: "policy",
			Doc: "The chains of a session's run as they are: one for each tool of a run that runs; otherwise one, of what is on " +
				"record. The ETag is its version.",
			Scope: api.ScopeRead, Response: api.Policy{}, Versioned: true, Problems: one(),
		},
		{
			Method: http.MethodPatch, Path: "/v1/sessions/{id}/policy", ID: "patchSessionPolicy", Tag: "policy",
			Doc:   "Adds path rules, or changes the mode. It applies from the next decision on, or when the session continues.",
			Scope: api.ScopeApprove, Header: []Param{needed(ifMatch)}, Body: api.PolicyChange{}, Response: api.Policy{}, Versioned: true,
			Problems: one(outcome.Conflict, outcome.Stale, outcome.NeedsIfMatch),
		},
		{
			Method: http.MethodGet, Path: "/v1/sessions/{id}/grants", ID: "listGrants", Tag: "policy",
			Doc:   "What people decided for the rest of the session's run.",
			Scope: api.ScopeRead, Response: api.Page[policy.Grant]{}, Problems: one(),
		},
		{
			Method: http.MethodDelete, Path: "/v1/sessions/{id}/grants/{grant}", ID: "revokeGrant", Tag: "policy",
			Doc:   "Revokes a grant.",
			Scope: api.ScopeApprove, Status: http.StatusNoContent, Problems: one(),
		},
		{
			Method: http.MethodGet, Path: "/v1/policy", ID: "getPolicy", Tag: "policy",
			Doc:   "The chain of a folder's settings, in order, with origins, as holdfast policy show --json prints it.",
			Scope: api.ScopeRead, Query: []Param{{Name: "cwd", Doc: "an absolute folder", Required: true}}, Response: json.RawMessage(nil),
		},
		{
			Method: http.MethodPost, Path: "/v1/policy/test", ID: "testPolicy", Tag: "policy",
			Doc:   "What would happen to a call, as holdfast policy check --json prints it. It runs nothing and asks nobody.",
			Scope: api.ScopeRead, Body: api.PolicyTest{}, Response: json.RawMessage(nil),
			Problems: one(),
		},
	}
}
