package routes

import (
	"net/http"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Scopes lists all scopes, narrowest first.
func Scopes() []api.Scope {
	return []api.Scope{api.ScopeRead, api.ScopeRun, api.ScopeApprove, api.ScopeAdmin}
}

// LoginCode is the code that logs in a browser.
type LoginCode struct {
	Code string `json:"code"`
}

// Login is the answer to the login of a browser.
type Login struct {
	CSRF   string      `json:"csrf" jsonschema:"value of the header X-Holdfast-CSRF; without this header the cookie can only read"`
	Name   string      `json:"name"`
	Scopes []api.Scope `json:"scopes"`
}

func authRoutes() []Route {
	return []Route{
		{
			Method: http.MethodPost, Path: "/v1/login", ID: "login", Tag: "auth", Open: true, Secret: true,
			Doc:  "Logs in with the code of a login link and sets the cookie. Only this answer has the CSRF token.",
			Body: LoginCode{}, Response: Login{}, Problems: []outcome.Outcome{outcome.Usage, outcome.Unauthenticated, outcome.Limit},
		},
		{
			Method: http.MethodPost, Path: "/v1/logout", ID: "logout", Tag: "auth", Doc: "Ends the caller's login session.",
			Status: http.StatusNoContent, Secret: true, Problems: []outcome.Outcome{outcome.Unauthenticated},
		},
		{
			Method: http.MethodPost, Path: "/v1/login/link", ID: "createLoginLink", Tag: "auth", Doc: "Creates a link that logs in one browser once.",
			Scope: api.ScopeAdmin, Status: http.StatusCreated, Response: api.LoginLink{}, Secret: true,
		},
		{
			Method: http.MethodGet, Path: "/v1/tokens", ID: "listTokens", Tag: "auth", Doc: "Lists the bearer tokens, newest first, without their secrets.",
			Scope: api.ScopeAdmin, Response: api.Page[api.Token]{},
		},
		{
			Method: http.MethodPost, Path: "/v1/tokens", ID: "createToken", Tag: "auth", Doc: "Creates a bearer token. Only this answer has its secret.",
			Scope: api.ScopeAdmin, Body: api.NewToken{}, Status: http.StatusCreated, Response: api.CreatedToken{}, Secret: true,
		},
		{
			Method: http.MethodDelete, Path: "/v1/tokens/{id}", ID: "revokeToken", Tag: "auth",
			Doc:   "Revokes a token: later requests with it are rejected. Its connections, and browser logins made with it, end.",
			Scope: api.ScopeAdmin, Status: http.StatusNoContent, Problems: orNotFound(),
		},
	}
}
