package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
)

// These are the lifetimes and the maximum numbers of codes and logins.
const (
	codeTTL    = 3 * time.Minute
	loginIdle  = 12 * time.Hour
	loginTTL   = 7 * 24 * time.Hour
	maxCodes   = 32
	maxLogins  = 256
	cookieName = "holdfast"
	hostPrefix = "__Host-" // browsers send such a cookie only to this host and over TLS
)

// CSRFHeader is the header in which a page sends the token that it received at login. If a request
// changes something and authenticates by a cookie, it needs this header.
const CSRFHeader = "X-Holdfast-Csrf"

// logins has the login codes and the logged-in browsers. They end with the daemon.
type logins struct {
	clock       func() time.Time
	tokenActive func(id string) bool

	mu    sync.Mutex
	codes []code
	list  []*login
}

type code struct {
	digest  digest
	caller  Caller
	expires time.Time
}

type login struct {
	digest digest // of the cookie's value
	csrf   string
	caller Caller
	made   time.Time
	used   time.Time
}

func (l *login) expired(now time.Time) bool {
	return now.Sub(l.used) >= loginIdle || now.Sub(l.made) >= loginTTL
}

// isValid reports whether a login has not expired, and the token that created its link is still
// active.
func (l *logins) isValid(k *login, now time.Time) bool {
	return !k.expired(now) && (k.caller.creator == "" || l.tokenActive(k.caller.creator))
}

// Link creates a code that logs in one browser once, with the scopes of c. The code is valid for a
// few minutes. An agent cannot create one. If c used a token, the code and its login end with the
// token. The code is recorded before it is returned; see [ErrUnrecorded].
func (a *Auth) Link(ctx context.Context, c Caller) (code string, expires time.Time, err error) {
	if c.Agent || !c.HasScope(api.ScopeAdmin) {
		return "", time.Time{}, &Error{ErrInvalid, c.Name + " may not create a login link", "use a token with the scope admin, or the unix socket"}
	}
	x, until := c.access(audit.ActionLink), a.o.Clock().Add(codeTTL).UTC()
	x.Scopes, x.Expires = describeScopes(c.Scopes), &until
	if err := a.record(ctx, x); err != nil {
		return "", time.Time{}, err
	}
	code, expires = a.logins.newCode(c)
	return code, expires, nil
}

// LinkURL returns the URL of the page that accepts a login code. If exactly one origin is configured,
// the URL has that origin. Otherwise it has the host that r was sent to, if r used TLS, or the first
// TCP address. Without a TCP address, LinkURL returns "". The code comes after a "#", so the browser
// does not send it to servers and servers do not log it.
func (a *Auth) LinkURL(r *http.Request, code string) string {
	base := a.hosts.linkBase(r)
	if base == "" {
		return ""
	}
	return base + "/login#" + code
}

func (l *logins) newCode(c Caller) (string, time.Time) {
	secret := strings.TrimPrefix(newSecret(), tokenPrefix)
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.codes = slices.DeleteFunc(l.codes, func(k code) bool { return !now.Before(k.expires) })
	if len(l.codes) >= maxCodes {
		l.codes = slices.Delete(l.codes, 0, 1+len(l.codes)-maxCodes)
	}
	if c.Method == "token" {
		c.creator = c.Token
	}
	k := code{sha256.Sum256([]byte(secret)), c, now.Add(codeTTL)}
	l.codes = append(l.codes, k)
	return secret, k.expires
}

// redeem consumes a code and returns the cookie of the new login.
func (l *logins) redeem(text string) (cookie string, made login, ok bool) {
	sum, now := sha256.Sum256([]byte(text)), l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	found := -1
	for i := range l.codes {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], l.codes[i].digest[:]), i, found)
	}
	if found < 0 {
		return "", login{}, false
	}
	k := l.codes[found]
	l.codes = slices.Delete(l.codes, found, found+1)
	if !now.Before(k.expires) || k.caller.creator != "" && !l.tokenActive(k.caller.creator) {
		return "", login{}, false
	}
	l.expire(now)
	cookie = newSecret()
	c := Caller{Name: k.caller.Name, Method: "cookie", Scopes: slices.Clone(k.caller.Scopes), UID: -1, Token: newID("login"), creator: k.caller.creator}
	newLogin := &login{sha256.Sum256([]byte(cookie)), newSecret(), c, now, now}
	l.list = append(l.list, newLogin)
	return cookie, *newLogin, true
}

// expire removes the expired logins. If there are still too many, it removes the least recently
// used ones.
func (l *logins) expire(now time.Time) {
	l.list = slices.DeleteFunc(l.list, func(k *login) bool { return k.expired(now) })
	for len(l.list) >= maxLogins {
		oldest := 0
		for i, k := range l.list {
			if k.used.Before(l.list[oldest].used) {
				oldest = i
			}
		}
		l.list = slices.Delete(l.list, oldest, oldest+1)
	}
}

// byCookie finds the login with this cookie.
func (l *logins) byCookie(cookie string) (login, bool) {
	sum, now := sha256.Sum256([]byte(cookie)), l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	found := -1
	for i := range l.list {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], l.list[i].digest[:]), i, found)
	}
	if found < 0 || !l.isValid(l.list[found], now) {
		return login{}, false
	}
	l.list[found].used = now
	return *l.list[found], true
}

func (l *logins) isActive(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.list, func(k *login) bool { return k.caller.Token == id && l.isValid(k, l.clock()) })
}

func (l *logins) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(k *login) bool { return k.caller.Token == id })
}

const maxLoginBody = 4 << 10

// Login is the handler of POST /v1/login {"code":…}: it consumes a code and sets the cookie. The
// answer is {"csrf", "name", "scopes"}; no other answer contains the CSRF token. The page stores
// the token where only pages of the same origin can read it.
func (a *Auth) Login(w http.ResponseWriter, r *http.Request) {
	text, bad := readLoginCode(w, r)
	if bad != nil {
		a.refuse(w, r, bad)
		return
	}
	cookie, made, ok := a.logins.redeem(text)
	if !ok {
		a.refuse(w, r, a.fail(r, "code", &refusal{
			status: http.StatusUnauthorized, detail: "the code is invalid, was already used, or has expired", hint: "holdfast daemon open",
		}))
		return
	}
	x := made.caller.access(audit.ActionLogin)
	x.Via, x.From, x.Login, x.Scopes = "link", originOf(r), made.caller.Token, describeScopes(made.caller.Scopes)
	if err := a.record(r.Context(), x); err != nil {
		a.logins.end(made.caller.Token)
		a.refuse(w, r, unrecorded("you are not logged in", err))
		return
	}
	http.SetCookie(w, newCookie(r, cookie, int(loginTTL/time.Second)))
	b, err := json.Marshal(routes.Login{CSRF: made.csrf, Name: made.caller.Name, Scopes: made.caller.Scopes})
	if err != nil {
		a.refuse(w, r, &refusal{status: http.StatusInternalServerError, detail: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n'))
}

// unrecorded returns the rejection of a request whose action could not be recorded.
func unrecorded(what string, err error) *refusal {
	bad := &refusal{status: http.StatusInternalServerError, detail: what + ": " + err.Error()}
	if e, ok := errors.AsType[*Error](err); ok {
		bad.hint = e.hint
	}
	return bad
}

// readLoginCode reads the body of a login request.
func readLoginCode(w http.ResponseWriter, r *http.Request) (string, *refusal) {
	bad := func(status int, detail string) (string, *refusal) {
		return "", &refusal{status: status, detail: detail, hint: `POST {"code":"…"} as application/json`}
	}
	if isUnix(r) {
		return bad(http.StatusBadRequest, "login is for browsers; the unix socket needs no login")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return bad(http.StatusUnsupportedMediaType, "the content type must be application/json")
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLoginBody))
	if _, limitErr := errors.AsType[*http.MaxBytesError](err); limitErr {
		return bad(http.StatusRequestEntityTooLarge, "the body is too large")
	}
	if err != nil {
		return bad(http.StatusBadRequest, "cannot read the body")
	}
	var in routes.LoginCode
	if routes.Decode(b, &in) != nil || in.Code == "" {
		return bad(http.StatusBadRequest, `the body is not {"code":"…"}`)
	}
	return in.Code, nil
}

// newCookie returns the cookie of a login. If age is negative, the cookie deletes the login's
// cookie in the browser.
func newCookie(r *http.Request, value string, age int) *http.Cookie {
	c := &http.Cookie{Name: cookieName, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if usesTLS(r) {
		c.Name, c.Secure = hostPrefix+cookieName, true
	}
	return c
}

// usesTLS reports whether the browser uses TLS, either to the daemon or to a trusted proxy. With a
// proxy, only the scheme in the Origin header shows it. The header was already compared with the
// allowed origins.
func usesTLS(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// Logout ends the caller's login and deletes the cookie. If that cannot be recorded, the answer is
// an error, but the login has ended.
func (a *Auth) Logout(w http.ResponseWriter, r *http.Request) {
	c, ok := CallerFrom(r.Context())
	if !ok {
		a.refuse(w, r, &refusal{status: http.StatusUnauthorized, detail: "not logged in, or the request lacks " + CSRFHeader})
		return
	}
	if c.Method == "cookie" {
		a.logins.end(c.Token)
		a.watch.check()
		http.SetCookie(w, newCookie(r, "", -1))
		x := c.access(audit.ActionLogout)
		x.Login = c.Token
		if err := a.record(r.Context(), x); err != nil {
			a.refuse(w, r, unrecorded("you are logged out", err))
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// CSRF returns the token of a caller that sent both the cookie and the token in [CSRFHeader]. For
// any other caller it returns "". A page uses it to check its stored token. A cookie alone is never
// enough, because browsers send the cookies of 127.0.0.1 to all its ports, and other programs may
// listen there.
func (a *Auth) CSRF(c Caller) string { return c.credential }
