// Package auth says who a client is and what it may do.
//
//	connection ─► Host, Origin ─► peer uid | bearer token | cookie + CSRF ─► Caller ─► scope of the route
//
// Nobody is let in without a credential. On the unix socket that is the uid of the
// process at the other end; on TCP a token, or the cookie that a one-time link gave.
package auth

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Scope is what a caller may do. A greater one does not contain the smaller ones,
// but [Admin] contains all.
type Scope string

// The scopes.
const (
	Read    Scope = "read"    // look at sessions, runs, policy, audit
	Run     Scope = "run"     // start, steer, stop, continue; rename, fork
	Approve Scope = "approve" // answer questions, change policy and mode, revoke grants
	Admin   Scope = "admin"   // delete, tokens, login links, and all of the above
)

// Caller is who sent a request.
type Caller struct {
	Name   string  // the account of a uid, the name of a token, the person of a link
	Via    string  // "unix", "token", "cookie"
	Scopes []Scope // sorted
	UID    int     // of a unix socket's peer; -1 otherwise
	PID    int     // of it
	Token  string  // id of the token, or of the login
	// Agent: the peer was started by a run of this daemon. It may look, and answer nothing.
	Agent bool
}

// May reports whether the caller has a scope.
func (c Caller) May(s Scope) bool { panic("not yet") }

// From returns who sent the request of a handler behind [Auth.Handler].
func From(ctx context.Context) (Caller, bool) { panic("not yet") }

// Options adjusts [New].
type Options struct {
	Dir     string   // where tokens are kept: $HOLDFAST_HOME/run, 0700
	UIDs    []int    // who may use the unix socket; default the daemon's own
	Hosts   []string // allowed in Host beside the listener's own address; no port is any port
	Origins []string // allowed in Origin beside those of Hosts
	Clock   func() time.Time
	// Refuse writes the answer to a request that is not let in; default plain text.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, code, detail, hint string)
	// Failed is told of every refusal, for the log; may be nil.
	Failed func(r *http.Request, status int, why string)
}

// Auth decides who is let in. It is safe for concurrent use.
type Auth struct{}

// New reads the tokens.
func New(o *Options) (*Auth, error) { panic("not yet") }

// ConnContext is [http.Server.ConnContext]: it notes the peer of a unix socket.
func (a *Auth) ConnContext(ctx context.Context, c net.Conn) context.Context { panic("not yet") }

// Handler lets requests through to next that come with a credential, and puts the
// [Caller] in their context; paths in open need none (their Host and Origin are
// looked at all the same). It sets the headers that every answer has: CSP, nosniff,
// no-store, and so on.
func (a *Auth) Handler(next http.Handler, open ...string) http.Handler { panic("not yet") }

// Listening says on what address TCP clients come, so that its Host is allowed.
func (a *Auth) Listening(addr net.Addr) { panic("not yet") }

// Token is a bearer token as it is kept: without its secret.
type Token struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Scopes  []Scope    `json:"scopes"`
	Created time.Time  `json:"created_at"`
	Expires *time.Time `json:"expires_at,omitempty"`
	Used    *time.Time `json:"used_at,omitempty"`
	By      string     `json:"by,omitempty"`
}

// Make makes a token and returns its secret, which is kept nowhere. A token that
// another program makes in the same folder is good at once.
func (a *Auth) Make(t Token) (secret string, made Token, err error) { panic("not yet") }

// Tokens lists the tokens, newest first.
func (a *Auth) Tokens() ([]Token, error) { panic("not yet") }

// Revoke takes a token back: requests with it are refused from now on, and
// [Auth.Gone] of its connections is closed.
func (a *Auth) Revoke(id string) error { panic("not yet") }

// Gone is closed when the caller's credential is revoked or expires: long-lived
// connections end then.
func (a *Auth) Gone(c Caller) <-chan struct{} { panic("not yet") }

// Check says who a secret belongs to: for the hello message of a WebSocket.
func (a *Auth) Check(secret string) (Caller, bool) { panic("not yet") }

// Link makes a code that logs a browser in once within a few minutes.
func (a *Auth) Link(c Caller) (code string, expires time.Time, err error) { panic("not yet") }

// Login is the handler of POST /v1/login {"code":…}: it takes a code and sets the
// cookie; the answer has the CSRF token. Logout ends the login.
func (a *Auth) Login(w http.ResponseWriter, r *http.Request)  { panic("not yet") }
func (a *Auth) Logout(w http.ResponseWriter, r *http.Request) { panic("not yet") }

// CSRF is the token of a caller who came with a cookie, for the page to send in the
// header X-Holdfast-CSRF with every request that changes something; "" for others.
func (a *Auth) CSRF(c Caller) string { panic("not yet") }
