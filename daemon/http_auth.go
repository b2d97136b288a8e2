package daemon

import (
	"net/http"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func (a *api) authRoutes() []route {
	return []route{
		{
			method: http.MethodPost, path: "/v1/login", id: "login", tag: "auth", open: true,
			doc:  "Takes the code of a link and sets the cookie. The answer is the only one that tells the CSRF token.",
			body: loginRequest{}, answer: loggedIn{}, secret: true, problems: []outcome.Outcome{outcome.Usage, outcome.Unauthenticated, outcome.Limit},
			serve: func(c *call) error { a.o.Auth.Login(c.w, c.r); return nil },
		},
		{
			method: http.MethodPost, path: "/v1/logout", id: "logout", tag: "auth", doc: "Ends the caller's login.",
			status: http.StatusNoContent, secret: true, problems: []outcome.Outcome{outcome.Unauthenticated},
			serve: func(c *call) error { a.o.Auth.Logout(c.w, c.r); return nil },
		},
		{
			method: http.MethodPost, path: "/v1/login/link", id: "createLoginLink", tag: "auth", doc: "Makes a link that logs a browser in once.",
			scope: auth.Admin, status: http.StatusCreated, answer: loginLink{}, secret: true, serve: a.loginLink,
		},
		{
			method: http.MethodGet, path: "/v1/tokens", id: "listTokens", tag: "auth", doc: "The bearer tokens, newest first, without their secrets.",
			scope: auth.Admin, answer: listOf[auth.Token]{}, serve: a.listTokens,
		},
		{
			method: http.MethodPost, path: "/v1/tokens", id: "createToken", tag: "auth", doc: "Makes a token. Its secret is in this answer and nowhere else.",
			scope: auth.Admin, body: tokenRequest{}, status: http.StatusCreated, answer: newToken{}, secret: true, serve: a.createToken,
		},
		{
			method: http.MethodDelete, path: "/v1/tokens/{id}", id: "revokeToken", tag: "auth",
			doc:   "Takes a token back: requests with it are refused from now on, and its connections closed.",
			scope: auth.Admin, status: http.StatusNoContent, problems: []outcome.Outcome{outcome.NotFound}, serve: a.revokeToken,
		},
	}
}

type loginRequest struct {
	Code string `json:"code"`
}

type loggedIn struct {
	CSRF   string       `json:"csrf" jsonschema:"for the header X-Holdfast-CSRF of every request"`
	Name   string       `json:"name"`
	Scopes []auth.Scope `json:"scopes"`
}

type loginLink struct {
	URL     string    `json:"url" jsonschema:"empty when no TCP address is served"`
	Code    string    `json:"code"`
	Expires time.Time `json:"expires_at"`
}

func (a *api) loginLink(c *call) error {
	code, expires, err := a.o.Auth.Link(c.ctx(), c.caller)
	if err != nil {
		return err
	}
	return c.json(loginLink{a.o.Auth.LinkURL(code), code, expires.UTC()})
}

func (a *api) listTokens(c *call) error {
	list, err := a.o.Auth.Tokens()
	if err != nil {
		return err
	}
	return c.json(listOf[auth.Token]{Items: append([]auth.Token{}, list...)})
}

type tokenRequest struct {
	Name    string       `json:"name"`
	Scopes  []auth.Scope `json:"scopes" jsonschema:"read, run, approve, admin"`
	Expires int          `json:"expires_in,omitempty" jsonschema:"seconds; never otherwise"`
}

type newToken struct {
	auth.Token
	Secret string `json:"secret" jsonschema:"for Authorization: Bearer"`
}

const maxExpiry = 100 * 365 * 24 * 3600 // seconds; more does not fit a duration

func (a *api) createToken(c *call) error {
	var q tokenRequest
	if err := c.into(&q); err != nil {
		return err
	}
	for _, s := range q.Scopes {
		if !slices.Contains([]auth.Scope{auth.Read, auth.Run, auth.Approve, auth.Admin}, s) {
			return refuse(outcome.Usage, "there is no scope "+string(s), "read, run, approve, admin")
		}
	}
	t := auth.Token{Name: q.Name, Scopes: q.Scopes}
	switch {
	case q.Name == "" || len(q.Scopes) == 0:
		return refuse(outcome.Usage, "a name and scopes are needed", "")
	case q.Expires < 0 || q.Expires > maxExpiry:
		return refuse(outcome.Usage, "expires_in is in seconds, from 1 to a hundred years", "")
	case q.Expires > 0:
		at := a.now().Add(time.Duration(q.Expires) * time.Second).UTC()
		t.Expires = &at
	}
	secret, made, err := a.o.Auth.Make(c.ctx(), c.caller, t)
	if err != nil {
		return err
	}
	c.header("Location", "/v1/tokens/"+made.ID)
	return c.json(newToken{made, secret})
}

func (a *api) revokeToken(c *call) error {
	if err := a.o.Auth.Revoke(c.ctx(), c.caller, c.path("id")); err != nil {
		return err
	}
	return c.none()
}
