package api

import (
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Scope is what a caller may do. A wider scope does not contain a narrower one, but
// [ScopeAdmin] contains all.
type Scope string

// The scopes.
const (
	ScopeRead    Scope = "read"    // look at sessions, runs, policy, audit
	ScopeRun     Scope = "run"     // start, steer, stop, continue; rename, fork
	ScopeApprove Scope = "approve" // answer questions, change policy and mode, revoke grants
	ScopeAdmin   Scope = "admin"   // delete, tokens, login links, and all of the above
)

// Scopes lists all scopes, the narrowest first.
func Scopes() []Scope { return []Scope{ScopeRead, ScopeRun, ScopeApprove, ScopeAdmin} }

// Token is a bearer token without its secret.
type Token struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Scopes  []Scope    `json:"scopes"`
	Created time.Time  `json:"created_at"`
	Expires *time.Time `json:"expires_at,omitempty"`
	Used    *time.Time `json:"used_at,omitempty"` // within some minutes
	By      string     `json:"by,omitempty"`
}

// NewToken describes a token to create.
type NewToken struct {
	Name    string  `json:"name"`
	Scopes  []Scope `json:"scopes" jsonschema:"read, run, approve, admin"`
	Expires int     `json:"expires_in,omitempty" jsonschema:"seconds; left out: never"`
}

// CreatedToken is a token that was just created, with its secret.
type CreatedToken struct {
	Token
	Secret string `json:"secret" jsonschema:"for Authorization: Bearer"`
}

// LoginCode is what a browser logs in with.
type LoginCode struct {
	Code string `json:"code"`
}

// Login is a login of a browser.
type Login struct {
	CSRF   string  `json:"csrf" jsonschema:"for the header X-Holdfast-CSRF of every request"`
	Name   string  `json:"name"`
	Scopes []Scope `json:"scopes"`
}

// LoginLink logs a browser in once.
type LoginLink struct {
	URL     string    `json:"url" jsonschema:"empty when no TCP address is served"`
	Code    string    `json:"code"`
	Expires time.Time `json:"expires_at"`
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
			Scope: ScopeAdmin, Status: http.StatusCreated, Response: LoginLink{}, Secret: true,
		},
		{
			Method: http.MethodGet, Path: "/v1/tokens", ID: "listTokens", Tag: "auth", Doc: "The bearer tokens, newest first, without their secrets.",
			Scope: ScopeAdmin, Response: Page[Token]{},
		},
		{
			Method: http.MethodPost, Path: "/v1/tokens", ID: "createToken", Tag: "auth", Doc: "Creates a token. Only this answer has its secret.",
			Scope: ScopeAdmin, Body: NewToken{}, Status: http.StatusCreated, Response: CreatedToken{}, Secret: true,
		},
		{
			Method: http.MethodDelete, Path: "/v1/tokens/{id}", ID: "revokeToken", Tag: "auth",
			Doc:   "Revokes a token: requests with it are refused from now on, and its connections are closed.",
			Scope: ScopeAdmin, Status: http.StatusNoContent, Problems: one(),
		},
	}
}
