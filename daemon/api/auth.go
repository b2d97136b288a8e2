package api

import (
	"time"
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

// LoginLink logs a browser in once.
type LoginLink struct {
	URL     string    `json:"url" jsonschema:"empty when no TCP address is served"`
	Code    string    `json:"code"`
	Expires time.Time `json:"expires_at"`
}
