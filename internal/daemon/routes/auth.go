package routes

import (
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Scopes lists all scopes, the narrowest first.
func Scopes() []api.Scope {
	return []api.Scope{api.ScopeRead, api.ScopeRun, api.ScopeApprove, api.ScopeAdmin}
}

// LoginCode is what a browser logs in with.
type LoginCode struct {
	Code string `json:"code"`
}

// Login is a login of a browser.
type Login struct {
	CSRF   string      `json:"csrf" jsonschema:"for the header X-Holdfast-CSRF of every request"`
	Name   string      `json:"name"`
	Scopes []api.Scope `json:"scopes"`
}

func authRoutes() []Route {
	return []Route{
		{
			Method: http.MethodPost, Path: "/v1/login", ID: "login", Tag: "auth", Open: true, Secret: true,
			Doc:  "Takes the code of a link and sets the cookie. Only this answer has the CSRF token.",
			Body: LoginCode{}, Response: Login{}, Problems: []outcome.Outcome{outcome.Usage, outcome.Unauthenticated, outcome.Limit},
		},
		{
			Method: http.MethodPost, Path: "/v1/logout", ID: "logout", Tag: "auth", Doc: "Ends the caller's login.",
			Status: http.StatusNoContent, Secret: true, Problems: []outcome.Outcome{outcome.Unauthenticated},
		},
		{
			Method: http.MethodPost, Path: "/v1/login/link", ID: "createLoginLink", Tag: "auth", Doc: "Creates a link that logs a browser in once.",
			Scope: api.ScopeAdmin, Status: http.StatusCreated, Response: api.LoginLink{}, Secret: true,
		},
		{
			Method: http.MethodGet, Path: "/v1/tokens", ID: "listTokens", Tag: "auth", Doc: "The bearer tokens, newest first, without their secrets.",
			Scope: api.ScopeAdmin, Response: api.Page[api.Token]{},
		},
		{
			Method: http.MethodPost, Path: "/v1/tokens", ID: "createToken", Tag: "auth", Doc: "Creates a token. Only this answer has its secret.",
			Scope: api.ScopeAdmin, Body: api.NewToken{}, Status: http.StatusCreated, Response: api.CreatedToken{}, Secret: true,
		},
		{
			Method: http.MethodDelete, Path: "/v1/tokens/{id}", ID: "revokeToken", Tag: "auth",
			Doc:   "Revokes a token: requests with it are refused from now on, and its connections are closed.",
			Scope: api.ScopeAdmin, Status: http.StatusNoContent, Problems: one(),
		},
	}
}
