package daemon

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func (a *service) authHandlers() map[string]func(*call) error {
	return map[string]func(*call) error{
		"login":           func(c *call) error { a.o.Auth.Login(c.w, c.r); return nil },
		"logout":          func(c *call) error { a.o.Auth.Logout(c.w, c.r); return nil },
		"createLoginLink": a.loginLink,
		"listTokens":      a.listTokens,
		"createToken":     a.createToken,
		"revokeToken":     a.revokeToken,
	}
}

func (a *service) loginLink(c *call) error {
	code, expires, err := a.o.Auth.Link(c.ctx(), c.caller)
	if err != nil {
		return err
	}
	return c.json(api.LoginLink{URL: a.o.Auth.LinkURL(c.r, code), Code: code, Expires: expires.UTC()})
}

func (a *service) listTokens(c *call) error {
	list, err := a.o.Auth.Tokens()
	if err != nil {
		return err
	}
	return c.json(api.Page[api.Token]{Items: append([]api.Token{}, list...)})
}

const maxExpiry = 100 * 365 * 24 * 3600 // seconds; a larger value would overflow a duration

func (a *service) createToken(c *call) error {
	var q api.NewToken
	if err := c.into(&q); err != nil {
		return err
	}
	for _, s := range q.Scopes {
		if !slices.Contains(routes.Scopes(), s) {
			return refuse(outcome.Usage, "unknown scope "+string(s), "use read, run, approve or admin")
		}
	}
	t := api.Token{Name: q.Name, Scopes: q.Scopes}
	switch {
	case q.Name == "" || len(q.Scopes) == 0:
		return refuse(outcome.Usage, "name and scopes are required", "")
	case q.Expires < 0 || q.Expires > maxExpiry:
		return refuse(outcome.Usage, "expires_in must be a number of seconds from 1 to 100 years", "")
	case q.Expires > 0:
		at := a.now().Add(time.Duration(q.Expires) * time.Second).UTC()
		t.Expires = &at
	}
	secret, made, err := a.o.Auth.CreateToken(c.ctx(), c.caller, t)
	if err != nil {
		return err
	}
	c.header("Location", "/v1/tokens/"+made.ID)
	return c.json(api.CreatedToken{Token: made, Secret: secret})
}

func (a *service) revokeToken(c *call) error {
	if err := a.o.Auth.Revoke(c.ctx(), c.caller, c.path("id")); err != nil {
		return err
	}
	return c.noContent()
}
