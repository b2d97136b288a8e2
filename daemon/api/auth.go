package api

import (
	"time"
)

// Scope is a set of operations that a caller may do. Scopes do not include each other, except
// that [ScopeAdmin] includes all.
type Scope string

// The scopes.
const (
	ScopeRead    Scope = "read"    // read sessions, runs, policy and audit entries
	ScopeRun     Scope = "run"     // start, steer, stop and continue runs; rename and fork sessions
	ScopeApprove Scope = "approve" // answer approvals, change policy and mode, revoke grants
	ScopeAdmin   Scope = "admin"   // delete sessions, manage tokens and login links, and do everything above
)

// Token is a bearer token without its secret.
type Token struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Scopes  []Scope    `json:"scopes"`
	Created time.Time  `json:"created_at"`
	Expires *time.Time `json:"expires_at,omitempty"`
	Used    *time.Time `json:"used_at,omitempty"` // time of the last use, accurate to a few minutes
	By      string     `json:"by,omitempty"`
}

// NewToken describes a token to create.
type NewToken struct {
	Name    string  `json:"name"`
	Scopes  []Scope `json:"scopes" jsonschema:"read, run, approve, admin"`
	Expires int     `json:"expires_in,omitempty" jsonschema:"lifetime in seconds; default: it does not expire"`
}

// CreatedToken is a token that was just created, with its secret.
type CreatedToken struct {
	Token
	Secret string `json:"secret" jsonschema:"the token, for the header Authorization: Bearer"`
}

// LoginLink is a link that logs in one browser once.
type LoginLink struct {
	URL     string    `json:"url" jsonschema:"empty if the daemon has no TCP address"`
	Code    string    `json:"code"`
	Expires time.Time `json:"expires_at"`
}
