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

// How long codes and logins last, and how many there are at once.
const (
	codeTTL    = 3 * time.Minute
	loginIdle  = 12 * time.Hour
	loginTTL   = 7 * 24 * time.Hour
	maxCodes   = 32
	maxLogins  = 256
	cookieName = "holdfast"
	hostPrefix = "__Host-" // browsers keep such a cookie to one host, over TLS
)

// CSRFHeader has the token that a page got when it logged in. A request with a cookie
// that changes something needs it.
const CSRFHeader = "X-Holdfast-Csrf"

// logins are the codes and the browsers that are logged in. They end with the daemon.
type logins struct {
	clock func() time.Time

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

// Link makes a code that logs a browser in once within a few minutes. The login may
// what c may. An agent gets none.
// It is on record before it is told: [ErrUnrecorded].
func (a *Auth) Link(ctx context.Context, c Caller) (code string, expires time.Time, err error) {
	if c.Agent || !c.HasScope(api.ScopeAdmin) {
		return "", time.Time{}, &Error{ErrInvalid, c.Name + " may not create a login link", "use a token with the scope admin, or the unix socket"}
	}
	x, until := c.by(audit.ActionLink), a.o.Clock().Add(codeTTL).UTC()
	x.Scopes, x.Expires = describeScopes(c.Scopes), &until
	if err := a.record(ctx, x); err != nil {
		return "", time.Time{}, err
	}
	code, expires = a.logins.code(c)
	return code, expires, nil
}

// LinkURL is the page that takes a code, at the first address that TCP clients come
// to; "" when there is none. The code stands behind a "#": it is sent to nobody and
// written into no log.
func (a *Auth) LinkURL(code string) string {
	base := a.hosts.first()
	if base == "" {
		return ""
	}
	return base + "/login#" + code
}

func (l *logins) code(c Caller) (string, time.Time) {
	secret := strings.TrimPrefix(newSecret(), prefix)
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.codes = slices.DeleteFunc(l.codes, func(k code) bool { return !now.Before(k.expires) })
	if len(l.codes) >= maxCodes {
		l.codes = slices.Delete(l.codes, 0, 1+len(l.codes)-maxCodes)
	}
	k := code{sha256.Sum256([]byte(secret)), c, now.Add(codeTTL)}
	l.codes = append(l.codes, k)
	return secret, k.expires
}

// enter takes a code and returns the new login's cookie.
func (l *logins) enter(text string) (cookie string, made login, ok bool) {
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
	if !now.Before(k.expires) {
		return "", login{}, false
	}
	l.expire(now)
	cookie = newSecret()
	c := Caller{Name: k.caller.Name, Method: "cookie", Scopes: slices.Clone(k.caller.Scopes), UID: -1, Token: newID("login")}
	fresh := &login{sha256.Sum256([]byte(cookie)), newSecret(), c, now, now}
	l.list = append(l.list, fresh)
	return cookie, *fresh, true
}

// expire forgets logins that are over, and those used longest ago when there are too many.
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

// callerOf finds the login of a cookie.
func (l *logins) callerOf(cookie string) (login, bool) {
	sum, now := sha256.Sum256([]byte(cookie)), l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	found := -1
	for i := range l.list {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], l.list[i].digest[:]), i, found)
	}
	if found < 0 || l.list[found].expired(now) {
		return login{}, false
	}
	l.list[found].used = now
	return *l.list[found], true
}

func (l *logins) isActive(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.list, func(k *login) bool { return k.caller.Token == id && !k.expired(l.clock()) })
}

func (l *logins) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(k *login) bool { return k.caller.Token == id })
}

const maxLoginBody = 4 << 10

// Login is the handler of POST /v1/login {"code":…}: it takes a code and sets the
// cookie; the answer is {"csrf", "name", "scopes"}, and the only one that ever tells
// the CSRF token. The page keeps it where only its own origin reads it.
func (a *Auth) Login(w http.ResponseWriter, r *http.Request) {
	text, bad := loginCode(w, r)
	if bad != nil {
		a.refuse(w, r, bad)
		return
	}
	cookie, made, ok := a.logins.enter(text)
	if !ok {
		a.refuse(w, r, a.fail(r, "code", &refusal{
			status: http.StatusUnauthorized, detail: "the code is invalid, was already used, or has expired", hint: "holdfast daemon open",
		}))
		return
	}
	x := made.caller.by(audit.ActionLogin)
	x.Via, x.From, x.Login, x.Scopes = "link", from(r), made.caller.Token, describeScopes(made.caller.Scopes)
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

// unrecorded is the answer to what has no record.
func unrecorded(what string, err error) *refusal {
	bad := &refusal{status: http.StatusInternalServerError, detail: what + ": " + err.Error()}
	if e, ok := errors.AsType[*Error](err); ok {
		bad.hint = e.hint
	}
	return bad
}

// loginCode reads the body of a login.
func loginCode(w http.ResponseWriter, r *http.Request) (string, *refusal) {
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
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
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

// newCookie makes the cookie of a login, or with a negative age the one that ends it.
func newCookie(r *http.Request, value string, age int) *http.Cookie {
	c := &http.Cookie{Name: cookieName, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if secure(r) {
		c.Name, c.Secure = hostPrefix+cookieName, true
	}
	return c
}

// secure reports whether the browser came over TLS, to us or to a proxy of ours:
// Origin says which, and was compared with the allowed ones.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// Logout ends the login of the caller and takes the cookie away. The answer is an error when
// that cannot be put on record, and the login has ended all the same.
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
		x := c.by(audit.ActionLogout)
		x.Login = c.Token
		if err := a.record(r.Context(), x); err != nil {
			a.refuse(w, r, unrecorded("you are logged out", err))
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// CSRF is the token of a caller who came with a cookie and had the token in
// [CSRFHeader] already; "" for everybody else. It lets a page find out whether the
// token it kept is still good. To a cookie alone it is never told: browsers send the
// cookies of 127.0.0.1 to each of its ports, whoever listens there.
func (a *Auth) CSRF(c Caller) string { return c.credential }
