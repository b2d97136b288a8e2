package api

import (
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
)

// Policy is the policy of a session's run.
type Policy struct {
	Version int            `json:"version"`
	Mode    policy.Mode    `json:"mode"`
	Live    bool           `json:"live" jsonschema:"the run runs: these are its guards; otherwise what is on record, without settings"`
	Chains  []policy.Chain `json:"chains"`
	Grants  []policy.Grant `json:"grants"`
}

// PolicyChange is a mode, or path rules for a tool.
type PolicyChange struct {
	Patch *PathRules  `json:"patch,omitempty"`
	Mode  policy.Mode `json:"mode,omitempty"`
}

// PathRules are path rules to add.
type PathRules struct {
	Tool    string        `json:"tool,omitempty" jsonschema:"left out: all tools"`
	Mode    string        `json:"mode" jsonschema:"read or write"`
	Allow   []string      `json:"allow,omitempty" jsonschema:"globs, absolute or relative to the session's folder"`
	Deny    []string      `json:"deny,omitempty"`
	Default policy.Effect `json:"default,omitempty" jsonschema:"allow, deny or ask; left out: unchanged"`
}

// PolicyTest is a tool call to judge.
type PolicyTest struct {
	Cwd     string          `json:"cwd" jsonschema:"an absolute folder"`
	Session string          `json:"session,omitempty" jsonschema:"with what was granted in this session"`
	Mode    string          `json:"mode,omitempty"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
}

func policyRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/sessions/{id}/policy", ID: "getSessionPolicy", Tag: "policy",
			Doc: "The chains of a session's run as they are: one for each tool of a run that runs; otherwise one, of what is on " +
				"record. The ETag is its version.",
			Scope: ScopeRead, Response: Policy{}, Versioned: true, Problems: one(),
		},
		{
			Method: http.MethodPatch, Path: "/v1/sessions/{id}/policy", ID: "patchSessionPolicy", Tag: "policy",
			Doc:   "Adds path rules, or changes the mode. It applies from the next decision on, or when the session continues.",
			Scope: ScopeApprove, Header: []Param{needed(ifMatch)}, Body: PolicyChange{}, Response: Policy{}, Versioned: true,
			Problems: one(outcome.Conflict, outcome.Stale, outcome.NeedsIfMatch),
		},
		{
			Method: http.MethodGet, Path: "/v1/sessions/{id}/grants", ID: "listGrants", Tag: "policy",
			Doc:   "What people decided for the rest of the session's run.",
			Scope: ScopeRead, Response: Page[policy.Grant]{}, Problems: one(),
		},
		{
			Method: http.MethodDelete, Path: "/v1/sessions/{id}/grants/{grant}", ID: "revokeGrant", Tag: "policy",
			Doc:   "Revokes a grant.",
			Scope: ScopeApprove, Status: http.StatusNoContent, Problems: one(),
		},
		{
			Method: http.MethodGet, Path: "/v1/policy", ID: "getPolicy", Tag: "policy",
			Doc:   "The chain of a folder's settings, in order, with origins, as holdfast policy show --json prints it.",
			Scope: ScopeRead, Query: []Param{{Name: "cwd", Doc: "an absolute folder", Required: true}}, Response: json.RawMessage(nil),
			Problems: []outcome.Outcome{outcome.NotOffered},
		},
		{
			Method: http.MethodPost, Path: "/v1/policy/test", ID: "testPolicy", Tag: "policy",
			Doc:   "What would happen to a call, as holdfast policy check --json prints it. It runs nothing and asks nobody.",
			Scope: ScopeRead, Body: PolicyTest{}, Response: json.RawMessage(nil),
			Problems: []outcome.Outcome{outcome.NotOffered},
		},
	}
}
