package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Handler passes authenticated requests to next, with the [Caller] in their context. It checks Host
// and Origin of every request, and sets the headers of every answer: CSP, nosniff, no-store, and
// others.
//
// Requests to the paths in open need no credential. If such a request has a valid credential, its
// context contains the Caller. An entry is a path, or a prefix if it ends in "/"; "!" before an
// entry closes it. The longest matching entry applies. "/v1/" is closed unless a longer entry opens
// a path below it.
func (a *Auth) Handler(next http.Handler, open ...string) http.Handler {
	paths := openPaths(open)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		c, known, bad := a.admit(r, paths.has(r.URL.Path))
		if bad != nil {
			a.refuse(w, r, bad)
			return
		}
		if known {
			r = r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
		}
		next.ServeHTTP(w, r)
	})
}

// setHeaders sets the headers of every answer. Scripts, styles and images come only from the
// daemon, and text cannot become markup.
func setHeaders(h http.Header) {
	for _, pair := range headers {
		h.Set(pair[0], pair[1])
	}
}

var headers = [][2]string{
	{"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cross-Origin-Embedder-Policy", "require-corp"},
	{"Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=(), serial=(), hid=(), display-capture=()"},
	{"Cache-Control", "no-store"},
}

// admit authenticates a request. It returns false for a request without a credential on an open
// path.
func (a *Auth) admit(r *http.Request, open bool) (c Caller, known bool, bad *refusal) {
	p := peerFrom(r)
	if bad := a.classify(r, p); bad != nil {
		return Caller{}, false, bad
	}
	if tokenInQuery(r.URL.RawQuery) || looksSecret(r.URL.Path) {
		return Caller{}, false, &refusal{
			status: http.StatusBadRequest, detail: "a token must not be in the URL, because logs store it",
			hint: "send Authorization: Bearer hf_…, and revoke the token: holdfast daemon token revoke ID",
		}
	}
	if len(r.Header["Authorization"]) > 0 {
		c, bad := a.bearer(r, p)
		c.From = originOf(r)
		return c, bad == nil, bad
	}
	if p.unix {
		c = a.unixCaller(p)
		c.From = originOf(r)
		return c, true, nil
	}
	c, known, bad = a.cookie(r, p)
	switch {
	case known:
		c.From = originOf(r)
		return c, true, nil
	case open:
		return Caller{}, false, nil
	case bad != nil:
		return Caller{}, false, bad
	}
	return Caller{}, false, &refusal{
		status: http.StatusUnauthorized, detail: "missing credential",
		hint: "for a browser: holdfast daemon open; for a program: holdfast daemon token create, or use the unix socket",
	}
}

// classify checks where a request comes from.
func (a *Auth) classify(r *http.Request, p *peer) *refusal {
	if p.unix {
		return a.classifyUnix(r, p)
	}
	if !a.hosts.isKnownHost(r) {
		return denied(fmt.Sprintf("the host %.100q is not one of this daemon", r.Host), "holdfast daemon --allow-host HOST")
	}
	if o := r.Header["Origin"]; len(o) > 1 || len(o) == 1 && !a.hosts.sameOrAllowed(r, o[0]) {
		return denied(fmt.Sprintf("the origin %.100q is not allowed", strings.Join(o, ", ")), "holdfast daemon --allow-origin ORIGIN")
	}
	if bad := a.crossSite(r); bad != nil {
		return bad
	}
	if err := a.cross.Check(r); err != nil {
		return denied("a page of another site sent this request", "")
	}
	return nil
}

// crossSite rejects requests from pages of other sites. A link to the console may be followed: the
// page itself sends all further requests, and the browser does not send the cookie when it follows
// the link.
func (a *Auth) crossSite(r *http.Request) *refusal {
	site := r.Header["Sec-Fetch-Site"]
	if len(site) == 0 || len(site) == 1 && (site[0] == "same-origin" || site[0] == "none") {
		return nil
	}
	if len(r.Header["Origin"]) == 1 { // it was already checked
		return nil
	}
	if isSafe(r) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" &&
		!strings.HasPrefix(r.URL.Path, "/v1/") {
		return nil
	}
	return denied("a page of another site sent this request", "")
}

// forwarded are the headers that proxies set. If a proxy were in front of the unix socket, all its
// clients would have the proxy's uid.
var forwarded = []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"}

func (a *Auth) classifyUnix(r *http.Request, p *peer) *refusal {
	switch {
	case p.err != nil:
		return denied("the unix socket is closed: "+p.err.Error(), "use TCP and a token")
	case !slices.Contains(a.o.UIDs, p.uid):
		return denied(fmt.Sprintf("uid %d may not use this socket", p.uid), "ask its owner for a token")
	case len(r.Header["Origin"]) > 0:
		return denied("web pages may not use the unix socket", "")
	case slices.ContainsFunc(forwarded, func(name string) bool { return len(r.Header[name]) > 0 }):
		return denied("a proxy may not use the unix socket, because all its clients would have the proxy's uid", "connect the proxy over TCP; its clients need tokens")
	}
	if host, port, ok := splitHost(r.Host); !ok || port != "" || strings.Contains(host, ".") {
		return denied(fmt.Sprintf("the host %.100q is not allowed on the unix socket", r.Host), "http://holdfast/…")
	}
	return nil
}

// unixCaller returns the caller at the other end of the unix socket.
func (a *Auth) unixCaller(p *peer) Caller {
	return intersectScopes(Caller{Name: a.account(p.uid), Method: "unix", Scopes: allScopes(), UID: p.uid, PID: p.pid}, p)
}

// intersectScopes limits the scopes of a process that the daemon itself started to reading.
func intersectScopes(c Caller, p *peer) Caller {
	if p.agent() {
		c.Scopes = readOnlyScopes(c)
		c.Agent = true
	}
	return c
}

// readOnlyScopes returns the scopes of the caller that do not allow changes.
func readOnlyScopes(c Caller) []api.Scope {
	if c.HasScope(api.ScopeRead) {
		return []api.Scope{api.ScopeRead}
	}
	return nil
}

// bearer authenticates a request by its Authorization header.
func (a *Auth) bearer(r *http.Request, p *peer) (Caller, *refusal) {
	secret, ok := parseBearer(r.Header["Authorization"])
	if !ok {
		return Caller{}, a.fail(r, "token", &refusal{
			status: http.StatusUnauthorized, detail: "the header Authorization holds no token of this daemon", hint: "Authorization: Bearer hf_…", token: true,
		})
	}
	tok, bad := a.tokenOf(r, secret)
	if bad != nil {
		return Caller{}, bad
	}
	return callerOf(tok, p), nil
}

// tokenOf finds the token with this secret.
func (a *Auth) tokenOf(r *http.Request, secret string) (api.Token, *refusal) {
	tok, err := a.tokens.bySecret(secret)
	switch {
	case err == nil:
		return tok, nil
	case errors.Is(err, errCredential):
		return api.Token{}, a.fail(r, "token", &refusal{
			status: http.StatusUnauthorized, detail: err.Error(), hint: "holdfast daemon token list", token: true,
		})
	}
	a.o.Failed(r, http.StatusInternalServerError, err.Error()) // the client does not get the details
	return api.Token{}, &refusal{status: http.StatusInternalServerError, detail: "the daemon cannot read its tokens"}
}

func callerOf(t api.Token, p *peer) Caller {
	return intersectScopes(Caller{Name: t.Name, Method: "token", Scopes: slices.Clone(t.Scopes), UID: p.uid, PID: p.pid, Token: t.ID}, p)
}

// parseBearer parses the header "Bearer SECRET": the request must have one such header, with one
// secret of the daemon.
func parseBearer(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	scheme, secret, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || !strings.HasPrefix(secret, tokenPrefix) || len(secret) > 100 {
		return "", false
	}
	return secret, true
}

// cookie authenticates a request that has the cookie of a login. A client with only the cookie may
// read, also over a WebSocket. The reason is that any program on another port of this host may have
// the cookie, if the browser has visited that port. A request that changes something must contain
// the CSRF token, which only the page has.
func (a *Auth) cookie(r *http.Request, p *peer) (Caller, bool, *refusal) {
	for _, name := range []string{hostPrefix + cookieName, cookieName} {
		for _, given := range r.CookiesNamed(name) {
			l, ok := a.logins.byCookie(given.Value)
			if !ok {
				continue
			}
			c := intersectScopes(l.caller, p)
			if csrf := r.Header[CSRFHeader]; len(csrf) == 1 && equalSecret(csrf[0], l.csrf) {
				c.credential = l.csrf
			} else {
				c.Scopes = readOnlyScopes(c)
			}
			if !isSafe(r) && c.credential == "" {
				return Caller{}, false, denied("the header "+CSRFHeader+" is missing or wrong", "log in again: holdfast daemon open")
			}
			if isUpgrade(r) && len(r.Header["Origin"]) == 0 {
				return Caller{}, false, denied("an upgrade with a cookie needs an Origin", "")
			}
			return c, true, nil
		}
	}
	return Caller{}, false, nil
}

func isSafe(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
}

func isUpgrade(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// Check returns the caller with this secret.
func (a *Auth) Check(secret string) (Caller, bool) {
	tok, err := a.tokens.bySecret(secret)
	if err != nil {
		return Caller{}, false
	}
	return callerOf(tok, &peer{uid: -1, agent: func() bool { return false }}), true
}

// CheckHello returns the caller that the secret belongs to. The secret is from the hello message of the
// WebSocket that r opened. A wrong secret counts as a failure of its address and is passed to
// Options.Failed.
func (a *Auth) CheckHello(r *http.Request, secret string) (Caller, bool) {
	tok, bad := a.tokenOf(r, secret)
	if bad != nil {
		a.o.Failed(r, bad.status, bad.detail)
		return Caller{}, false
	}
	return callerOf(tok, peerFrom(r)), true
}

// refusal describes why a request is rejected.
type refusal struct {
	status       int
	detail, hint string
	wait         time.Duration // time until the next attempt, if the status is 429
	token        bool          // the request had a token
}

func denied(detail, hint string) *refusal {
	return &refusal{status: http.StatusForbidden, detail: detail, hint: hint}
}

// fail counts a wrong credential, and records the rejection with the kind of the credential. After
// too many failures the address must wait.
func (a *Auth) fail(r *http.Request, credentialKind string, bad *refusal) *refusal {
	a.recordRefusal(r, credentialKind, bad.detail)
	if isUnix(r) {
		return bad
	}
	if wait, tooMany := a.failed.fail(addressOf(r)); tooMany {
		return &refusal{status: http.StatusTooManyRequests, detail: "too many wrong credentials from this address", wait: wait}
	}
	return bad
}

func (a *Auth) refuse(w http.ResponseWriter, r *http.Request, bad *refusal) {
	a.o.Failed(r, bad.status, bad.detail)
	if bad.status == http.StatusUnauthorized {
		challenge := `Bearer realm="holdfast"`
		if bad.token {
			challenge += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	if bad.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(bad.wait.Seconds()))))
	}
	a.o.Refuse(w, r, bad.status, codeOf(bad.status), bad.detail, bad.hint)
}

// Unauthenticated is the code of a rejection with status 401. All other codes are codes of package
// outcome.
const Unauthenticated = "unauthenticated"

func codeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return Unauthenticated
	case http.StatusForbidden:
		return outcome.Denied.Code
	case http.StatusTooManyRequests:
		return outcome.Limit.Code
	case http.StatusInternalServerError:
		return outcome.Failed.Code
	}
	return outcome.Usage.Code
}

func writePlain(w http.ResponseWriter, _ *http.Request, status int, _, detail, hint string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, outcome.WithHint(detail, hint)+"\n")
}

type openPaths []string

// has reports whether a path needs no credential. A path with redundant parts such as "." or "//"
// is never open, because the handler may interpret it as a different path.
func (o openPaths) has(p string) bool {
	clean := path.Clean(p)
	if p != clean && p != clean+"/" || !strings.HasPrefix(p, "/") {
		return false
	}
	best, open := 0, false
	if strings.HasPrefix(p, "/v1/") {
		best = len("/v1/")
	}
	for _, entry := range o {
		text, closed := strings.CutPrefix(entry, "!")
		fits := p == text || strings.HasSuffix(text, "/") && strings.HasPrefix(p, text)
		if fits && (len(text) > best || len(text) == best && closed) {
			best, open = len(text), !closed
		}
	}
	return open
}
