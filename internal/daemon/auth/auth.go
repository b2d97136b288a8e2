// Package auth authenticates the daemon's clients and checks their scopes.
//
//	connection ─► Host, Origin ─► peer uid | bearer token | cookie + CSRF ─► Caller ─► scope of the route
//
// Every request needs a credential. On the unix socket, a client is identified by the uid of the
// process at the other end. On TCP, it is identified by a token, or by the cookie from a one-time
// link. Processes that the daemon started (its agents and their commands) may only read, even with
// a credential that allows more. The reason is that an agent must not answer its own approval
// requests.
//
// docs/security.md says which attacks this prevents and which it does not.
package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// allScopes returns the scopes of the owner of the unix socket, sorted.
func allScopes() []api.Scope {
	return []api.Scope{api.ScopeAdmin, api.ScopeApprove, api.ScopeRead, api.ScopeRun}
}

// Caller is the authenticated client of a request.
type Caller struct {
	Name   string      // the account of the uid, the name of the token, or the creator of the login link
	Method string      // "unix", "token" or "cookie"; for a program that calls this package, "cli"
	From   string      // an address, or "unix uid 1000 pid 77"
	Scopes []api.Scope // sorted
	UID    int         // of a unix socket's peer; -1 otherwise
	PID    int         // of a unix socket's peer, or 0
	Token  string      // id of the token, or of the login
	// Agent is true if a run of this daemon started the peer. Such a peer may only read.
	Agent bool

	credential string // the CSRF token that the request contained, if it was valid
	creator    string // of a login: id of the token that created its link, or ""
}

// HasScope reports whether the caller has a scope. An agent has at most [api.ScopeRead].
func (c Caller) HasScope(s api.Scope) bool {
	if c.Agent && s != api.ScopeRead {
		return false
	}
	return slices.Contains(c.Scopes, s) || slices.Contains(c.Scopes, api.ScopeAdmin) && slices.Contains(routes.Scopes(), s)
}

// CheckScope returns an *[api.Problem] if the caller does not have a scope.
func (c Caller) CheckScope(s api.Scope) error {
	switch {
	case c.HasScope(s):
		return nil
	case c.Agent:
		return routes.NewProblem(outcome.Forbidden, "a process that was started by a run of this daemon may only read", "")
	}
	return routes.NewProblem(outcome.Forbidden, "this request needs the scope "+string(s), "holdfast daemon token create --scope "+string(s))
}

type callerKey struct{}

// CallerFrom returns the caller of a request in a handler behind [Auth.Handler]. It returns false
// if the request has no credential and its path is open.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// Options configure [New].
type Options struct {
	Dir     string   // folder of the tokens: $HOLDFAST_HOME/run, mode 0700; created if missing
	UIDs    []int    // uids that may use the unix socket; default: the uid of the daemon
	Hosts   []string // host names that the Host header may contain, in addition to the listener's address; without a port, any port is allowed
	Origins []string // origins that the Origin header may contain, in addition to those of Hosts: "https://console.example.org"
	Clock   func() time.Time
	// HasSandboxProxies means that this process contains the proxies of the sandboxes. So every TCP connection
	// of this process to the daemon comes from a run.
	HasSandboxProxies bool
	// Refuse writes the answer to a rejected request; by default, the answer is plain text.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, code, detail, hint string)
	// Record records an access for the audit. An access is a login, a wrong credential, or a token
	// that was created or revoked. Nil records nothing. If Record fails, logins, new tokens and new
	// links are rejected. Tokens can still be revoked, and users can still log out.
	Record func(ctx context.Context, x audit.Access) error
	// Failed is called for every rejected request, so that the request can be logged; it may be
	// nil.
	Failed func(r *http.Request, status int, why string)
}

// Auth authenticates requests. It is safe for concurrent use.
type Auth struct {
	o        Options
	hosts    *hosts
	cross    *http.CrossOriginProtection
	tokens   *tokens
	logins   *logins
	failed   *limiter
	refusals refusals
	watch    *credentialWatch
	process  processTree

	names sync.Map // uid → account
}

// New reads the tokens. It returns an error if an entry of Hosts or Origins is invalid. If the
// token file is damaged or other users can read it, the error is an [*Error] with a hint.
func New(o *Options) (*Auth, error) {
	a := &Auth{o: *o, process: newProcessTree(os.Getpid())}
	a.process.includeSelf = o.HasSandboxProxies
	if a.o.Clock == nil {
		a.o.Clock = time.Now
	}
	if a.o.Refuse == nil {
		a.o.Refuse = writePlain
	}
	if a.o.Failed == nil {
		a.o.Failed = func(*http.Request, int, string) {}
	}
	a.o.UIDs = slices.Clone(o.UIDs)
	if len(a.o.UIDs) == 0 {
		a.o.UIDs = []int{os.Getuid()}
	}
	var err error
	if a.hosts, err = newHosts(o.Hosts, o.Origins); err != nil {
		return nil, err
	}
	a.cross = http.NewCrossOriginProtection()
	for origin := range a.hosts.origins {
		if err := a.cross.AddTrustedOrigin(origin); err != nil {
			return nil, invalid("auth: origin %q: %v", origin, err)
		}
	}
	if a.tokens, err = openTokens(o.Dir, a.o.Clock); err != nil {
		return nil, err
	}
	a.logins = &logins{clock: a.o.Clock, tokenActive: a.tokens.isActive}
	a.failed = &limiter{clock: a.o.Clock}
	a.refusals.clock = a.o.Clock
	a.watch = &credentialWatch{valid: a.isValid}
	return a, nil
}

// Close stops the watch for [Auth.Revoked], and records the number of rejections that have no
// separate records. It may be called more than once.
func (a *Auth) Close() error {
	a.watch.close()
	if left := a.refusals.takeSkipped(); left > 0 {
		return a.record(context.Background(), audit.Access{Action: audit.ActionRefuse, Omitted: left})
	}
	return nil
}

// CreateToken creates a token for c and returns its secret, which is not stored. The caller sets Name and
// Scopes; Make sets ID, Created and By. If another program creates a token in the same folder, that
// token is valid at once. The creation is recorded before the token is created; if that fails, the
// error is [ErrUnrecorded].
func (a *Auth) CreateToken(ctx context.Context, c Caller, t api.Token) (secret string, made api.Token, err error) {
	t.By = c.Name
	if err := a.tokens.check(&t); err != nil {
		return "", api.Token{}, err
	}
	x := describe(t, c.access(audit.ActionToken))
	if err := a.record(ctx, x); err != nil {
		return "", api.Token{}, err
	}
	if secret, err = a.tokens.create(t); err != nil {
		x.Failed = true
		return "", api.Token{}, errors.Join(err, a.record(ctx, x))
	}
	return secret, t, nil
}

// Tokens lists the tokens, including expired ones, newest first.
func (a *Auth) Tokens() ([]api.Token, error) { return a.tokens.list() }

// Revoke revokes a token. Later requests with the token are rejected, and the channel
// [Auth.Revoked] of its connections is closed. The same is true for browser logins whose link was
// created with the token. An unknown id is [ErrUnknown]. If the error is
// [ErrUnrecorded], the token is revoked, but the revocation is not recorded.
func (a *Auth) Revoke(ctx context.Context, c Caller, id string) error {
	t, err := a.tokens.find(id)
	if err != nil {
		return err
	}
	x := describe(t, c.access(audit.ActionRevoke))
	unrecorded := a.record(ctx, x)
	if err := a.tokens.revoke(id); err != nil {
		x.Failed = true
		return errors.Join(err, a.record(ctx, x))
	}
	a.watch.check()
	if unrecorded != nil {
		return fmt.Errorf("token %s was revoked, but that could not be recorded: %w", id, unrecorded)
	}
	return nil
}

// Revoked returns a channel that is closed when the caller's credential is revoked or expires.
// Long-lived connections end when it is closed. For the peer of a unix socket, the channel is never
// closed.
func (a *Auth) Revoked(c Caller) <-chan struct{} {
	if c.Token == "" {
		return nil
	}
	return a.watch.revoked(credential{c.Method, c.Token})
}

// isValid reports whether a credential is still valid.
func (a *Auth) isValid(c credential) bool {
	if c.via == "cookie" {
		return a.logins.isActive(c.id)
	}
	return a.tokens.isActive(c.id)
}
