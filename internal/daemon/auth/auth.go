// Package auth says who a client is and what it may do.
//
//	connection ─► Host, Origin ─► peer uid | bearer token | cookie + CSRF ─► Caller ─► scope of the route
//
// Nobody is let in without a credential. On the unix socket that is the uid of the
// process at the other end; on TCP a token, or the cookie that a one-time link gave.
// What runs below the daemon, its agents and their commands, may look and change
// nothing, whatever it has: an agent must not answer its own questions.
//
// docs/security.md says against whom this helps, and against whom it does not.
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
)

// every is what the owner of the unix socket may, sorted.
func every() []api.Scope {
	return []api.Scope{api.ScopeAdmin, api.ScopeApprove, api.ScopeRead, api.ScopeRun}
}

// Caller is who sent a request.
type Caller struct {
	Name   string      // the account of a uid, the name of a token, the person of a link
	Method string      // "unix", "token", "cookie"; of a program that calls this package "cli"
	From   string      // an address, or "unix uid 1000 pid 77"
	Scopes []api.Scope // sorted
	UID    int         // of a unix socket's peer; -1 otherwise
	PID    int         // of it, or 0
	Token  string      // id of the token, or of the login
	// Agent: the peer was started by a run of this daemon. It may look, and answer nothing.
	Agent bool

	credential string // the CSRF token that the request carried, when it was right
}

// HasScope reports whether the caller has a scope. An agent has [api.ScopeRead] at most.
func (c Caller) HasScope(s api.Scope) bool {
	if c.Agent && s != api.ScopeRead {
		return false
	}
	return slices.Contains(c.Scopes, s) || slices.Contains(c.Scopes, api.ScopeAdmin) && slices.Contains(routes.Scopes(), s)
}

type callerKey struct{}

// CallerFrom returns who sent the request of a handler behind [Auth.Handler]. It reports
// false for a request without a credential on an open path.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// Options adjusts [New].
type Options struct {
	Dir     string   // where tokens are kept: $HOLDFAST_HOME/run, 0700; made when it is missing
	UIDs    []int    // who may use the unix socket; default the daemon's own
	Hosts   []string // allowed in Host beside the listener's own address; no port is any port
	Origins []string // allowed in Origin beside those of Hosts: "https://console.example.org"
	Clock   func() time.Time
	// Inside says that what this very process connects to the daemon over TCP does so for
	// a run: it has the proxies of their sandboxes.
	Inside bool
	// Refuse writes the answer to a request that is not let in; default plain text.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, code, detail, hint string)
	// Record puts an access on record for the audit: who came in, was refused with a wrong
	// credential, made a token or took one back. Nil: nothing is on record. While it fails,
	// nobody logs in and no token or link is made; revoking and logging out work all the same.
	Record func(ctx context.Context, x audit.Access) error
	// Failed is told of every refusal, for the log; may be nil.
	Failed func(r *http.Request, status int, why string)
}

// Auth decides who is let in. It is safe for concurrent use.
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

// New reads the tokens. Errors: an entry of Hosts or Origins that is none, a damaged
// file of tokens, or one that others can read ([*Error], with a hint).
func New(o *Options) (*Auth, error) {
	a := &Auth{o: *o, process: processes(os.Getpid())}
	a.process.inside = o.Inside
	if a.o.Clock == nil {
		a.o.Clock = time.Now
	}
	if a.o.Refuse == nil {
		a.o.Refuse = plain
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
	a.logins = &logins{clock: a.o.Clock}
	a.failed = &limiter{clock: a.o.Clock}
	a.refusals.clock = a.o.Clock
	a.watch = &credentialWatch{valid: a.isValid}
	return a, nil
}

// Close ends what watches credentials for [Auth.Revoked], and puts on record how many refusals
// were not. Closing twice does nothing.
func (a *Auth) Close() error {
	a.watch.close()
	if left := a.refusals.rest(); left > 0 {
		return a.record(context.Background(), audit.Access{Action: audit.ActionRefuse, Omitted: left})
	}
	return nil
}

// Make makes a token for c and returns its secret, which is kept nowhere. Name and Scopes
// are needed; ID, Created and By are filled in. A token that another program makes in the
// same folder is good at once. It is on record before it is there: [ErrUnrecorded].
func (a *Auth) Make(ctx context.Context, c Caller, t api.Token) (secret string, made api.Token, err error) {
	t.By = c.Name
	if err := a.tokens.check(&t); err != nil {
		return "", api.Token{}, err
	}
	x := describe(t, c.by(audit.ActionToken))
	if err := a.record(ctx, x); err != nil {
		return "", api.Token{}, err
	}
	if secret, err = a.tokens.create(t); err != nil {
		x.Failed = true
		return "", api.Token{}, errors.Join(err, a.record(ctx, x))
	}
	return secret, t, nil
}

// Tokens lists the tokens, newest first; those that have expired too.
func (a *Auth) Tokens() ([]api.Token, error) { return a.tokens.list() }

// Revoke takes a token back: requests with it are refused from now on, and
// [Auth.Revoked] of its connections is closed. An id that is not there is [ErrUnknown]. With
// [ErrUnrecorded] the token is revoked, and that has no record.
func (a *Auth) Revoke(ctx context.Context, c Caller, id string) error {
	t, err := a.tokens.find(id)
	if err != nil {
		return err
	}
	x := describe(t, c.by(audit.ActionRevoke))
	unrecorded := a.record(ctx, x)
	if err := a.tokens.revoke(id); err != nil {
		x.Failed = true
		return errors.Join(err, a.record(ctx, x))
	}
	a.watch.check()
	if unrecorded != nil {
		return fmt.Errorf("token %s is revoked, but has no record of that: %w", id, unrecorded)
	}
	return nil
}

// Revoked is closed when the caller's credential is revoked or expires: long-lived
// connections end then. For the peer of a unix socket it is never closed.
func (a *Auth) Revoked(c Caller) <-chan struct{} {
	if c.Token == "" {
		return nil
	}
	return a.watch.gone(credential{c.Method, c.Token})
}

// isValid reports whether a credential still lets in.
func (a *Auth) isValid(c credential) bool {
	if c.via == "cookie" {
		return a.logins.isActive(c.id)
	}
	return a.tokens.alive(c.id)
}
