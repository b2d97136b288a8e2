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
			Doc: "Returns the decision chains of a session's run: one for each tool if the run is active, otherwise one from the " +
				"recorded policy. The ETag is the policy's version.",
			Scope: api.ScopeRead, Response: api.Policy{}, Versioned: true, Problems: orNotFound(),
		},
		{
			Method: http.MethodPatch, Path: "/v1/sessions/{id}/policy", ID: "patchSessionPolicy", Tag: "policy",
			Doc:   "Adds path rules, or changes the mode. The change applies from the next decision, or when the session is resumed.",
			Scope: api.ScopeApprove, Header: []Param{required(ifMatch)}, Body: api.PolicyChange{}, Response: api.Policy{}, Versioned: true,
			Problems: orNotFound(outcome.Conflict, outcome.Stale, outcome.NeedsIfMatch),
		},
		{
			Method: http.MethodGet, Path: "/v1/sessions/{id}/grants", ID: "listGrants", Tag: "policy",
			Doc:   "Lists the session's grants: answers for the rest of the session.",
			Scope: api.ScopeRead, Response: api.Page[policy.Grant]{}, Problems: orNotFound(),
		},
		{
			Method: http.MethodDelete, Path: "/v1/sessions/{id}/grants/{grant}", ID: "revokeGrant", Tag: "policy",
			Doc:   "Revokes a grant.",
			Scope: api.ScopeApprove, Status: http.StatusNoContent, Problems: orNotFound(),
		},
		{
			Method: http.MethodGet, Path: "/v1/policy", ID: "getPolicy", Tag: "policy",
			Doc:   "Returns the decision chain of a folder's settings with its origins, as holdfast policy show --json prints it.",
			Scope: api.ScopeRead, Query: []Param{{Name: "cwd", Doc: "an absolute folder", Required: true}}, Response: json.RawMessage(nil),
		},
		{
			Method: http.MethodPost, Path: "/v1/policy/test", ID: "testPolicy", Tag: "policy",
			Doc:   "Returns the decision for a call, as holdfast policy check --json prints it. It does not run the call and creates no approval.",
			Scope: api.ScopeRead, Body: api.PolicyTest{}, Response: json.RawMessage(nil),
			Problems: orNotFound(),
		},
	}
}
