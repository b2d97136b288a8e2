package auth

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

func TestLogin(t *testing.T) {
	f := newFixture(t, nil)
	code, expires, err := f.Link(t.Context(), Caller{Name: "ann", Scopes: allScopes()})
	if err != nil || !expires.Equal(f.clock.Now().Add(codeTTL)) {
		t.Fatal(expires, err)
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/login/link", nil)
	if url := f.LinkURL(r, code); url != f.tcp.URL+"/login#"+code {
		t.Error(url)
	}
	r.TLS, r.Host = &tls.ConnectionState{}, "c.example:7"
	if url := f.LinkURL(r, code); url != "https://c.example:7/login#"+code {
		t.Error(url)
	}
	got := f.do(loginCall(code))
	if got.status != http.StatusOK || !strings.Contains(got.body, `"name":"ann","scopes":["admin","approve","read","run"]`) {
		t.Fatalf("%+v", got)
	}
	set := got.header.Get("Set-Cookie")
	for _, want := range []string{"holdfast=hf_", "Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=604800"} {
		if !strings.Contains(set, want) {
			t.Errorf("%s lacks %s", set, want)
		}
	}
	if strings.Contains(set, "Secure") || strings.Contains(set, "Domain") {
		t.Error(set)
	}
	if again := f.do(loginCall(code)); again.status != http.StatusUnauthorized || again.header.Get("Set-Cookie") != "" {
		t.Errorf("a used code: %+v", again)
	}
	late, _, _ := f.Link(t.Context(), Caller{Name: "ann", Scopes: allScopes()})
	f.clock.add(codeTTL)
	if got := f.do(loginCall(late)); got.status != http.StatusUnauthorized {
		t.Errorf("an expired code: %+v", got)
	}
	if _, _, err := f.Link(t.Context(), Caller{Name: "bob", Scopes: []api.Scope{api.ScopeRead, api.ScopeRun, api.ScopeApprove}}); err == nil {
		t.Error("a link was created without the scope admin")
	}
}

func TestLoginErrors(t *testing.T) {
	f := newFixture(t, nil)
	code, _, _ := f.Link(t.Context(), Caller{Name: "ann", Scopes: allScopes()})
	right := loginCall(code)
	for name, tt := range map[string]struct {
		change func(*call)
		status int
	}{
		"form":          {func(c *call) { c.header["Content-Type"] = "application/x-www-form-urlencoded" }, 415},
		"text":          {func(c *call) { c.header["Content-Type"] = "text/plain" }, 415},
		"no type":       {func(c *call) { delete(c.header, "Content-Type") }, 415},
		"get":           {func(c *call) { c.method = "GET" }, 200}, // served by another handler
		"foreign page":  {func(c *call) { c.header["Origin"] = "https://evil.example" }, 403},
		"cross-site":    {func(c *call) { c.header["Sec-Fetch-Site"] = "cross-site" }, 403},
		"rebound":       {func(c *call) { c.host = "evil.example" }, 403},
		"socket":        {func(c *call) { c.unix = true }, 400},
		"empty":         {func(c *call) { c.body = "" }, 400},
		"other key":     {func(c *call) { c.body = `{"code":"` + code + `","a":1}` }, 400},
		"twice":         {func(c *call) { c.body = `{"code":"x","code":"` + code + `"}` }, 400},
		"no object":     {func(c *call) { c.body = `["code","` + code + `"]` }, 400},
		"number":        {func(c *call) { c.body = `{"code":1}` }, 400},
		"none":          {func(c *call) { c.body = `{"code":""}` }, 400},
		"more behind":   {func(c *call) { c.body += "{}" }, 400},
		"long":          {func(c *call) { c.body = `{"code":"` + strings.Repeat("a", maxLoginBody) + `"}` }, 413},
		"wrong":         {func(c *call) { c.body = `{"code":"` + code + `x"}` }, 401},
		"code in query": {func(c *call) { c.path, c.body = "/v1/login?code="+code, "" }, 400},
	} {
		c := right
		c.header = joined(right.header)
		tt.change(&c)
		if got := f.do(c); got.status != tt.status || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %s, want %d", name, got.status, got.body, tt.status)
		}
	}
	if got := f.do(right); got.status != http.StatusOK {
		t.Errorf("a rejected request consumed the code: %+v", got)
	}
}

func TestLogout(t *testing.T) {
	f := newFixture(t, nil)
	cookie, csrf := f.login()
	c, _ := f.callerOf(cookie)
	gone := f.Revoked(c)
	out := call{method: http.MethodPost, path: "/v1/logout", header: map[string]string{"Cookie": cookie}}
	if got := f.do(out); got.status != http.StatusUnauthorized {
		t.Errorf("without CSRF: %+v", got)
	}
	out.header[CSRFHeader] = csrf
	got := f.do(out)
	if got.status != http.StatusNoContent || !strings.Contains(got.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("%+v", got)
	}
	<-gone
	if got := f.do(call{header: map[string]string{"Cookie": cookie}}); got.status != http.StatusUnauthorized {
		t.Errorf("after it: %+v", got)
	}
}

// bySecret returns the caller with a cookie.
func (f *fixture) callerOf(cookie string) (Caller, bool) {
	_, value, _ := strings.Cut(cookie, "=")
	l, ok := f.logins.byCookie(value)
	return l.caller, ok
}

func TestLoginExpiry(t *testing.T) {
	f := newFixture(t, nil)
	idle, _ := f.login()
	for range 3 {
		busy, _ := f.login()
		end := f.clock.Now().Add(loginTTL)
		for f.clock.Now().Add(loginIdle - time.Second).Before(end) {
			f.clock.add(loginIdle - time.Second)
			if _, ok := f.callerOf(busy); !ok {
				t.Fatal("an active login ended early")
			}
		}
		f.clock.add(end.Sub(f.clock.Now()))
		if _, ok := f.callerOf(busy); ok {
			t.Error("a login never ends")
		}
	}
	if _, ok := f.callerOf(idle); ok {
		t.Error("an idle login is still valid")
	}
}

// A login whose link was created with a token ends with the token. So does a login that such a login
// created, and a code that nobody has used yet.
func TestLoginEndsWithToken(t *testing.T) {
	for name, end := range map[string]func(f *fixture, tok api.Token) error{
		"revoked": func(f *fixture, tok api.Token) error { return f.Revoke(t.Context(), Caller{Name: "ann"}, tok.ID) },
		"expired": func(f *fixture, _ api.Token) error { f.clock.add(time.Second); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			at := f.clock.Now().Add(time.Hour)
			secret, tok := f.make(api.Token{Scopes: []api.Scope{api.ScopeAdmin}, Expires: &at})
			c, _ := f.Check(secret)
			loginOf := func(c Caller) (Caller, string) {
				code, _, err := f.Link(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				cookie, _, _ := strings.Cut(f.do(loginCall(code)).header.Get("Set-Cookie"), ";")
				made, ok := f.callerOf(cookie)
				if !ok {
					t.Fatal("no login")
				}
				return made, cookie
			}
			first, cookie := loginOf(c)
			_, second := loginOf(first)
			other, _ := f.login()
			gone := f.Revoked(first)
			if name == "expired" {
				f.clock.add(time.Hour - time.Second)
			}
			unused, _, _ := f.Link(t.Context(), c)
			if _, ok := f.callerOf(second); !ok {
				t.Fatal("the login ended early")
			}
			if err := end(f, tok); err != nil {
				t.Fatal(err)
			}
			<-gone
			for _, k := range []string{cookie, second} {
				if got := f.do(call{header: map[string]string{"Cookie": k}}); got.status != http.StatusUnauthorized {
					t.Errorf("a login of the token: %+v", got)
				}
			}
			if got := f.do(loginCall(unused)); got.status != http.StatusUnauthorized {
				t.Errorf("a code of the token: %+v", got)
			}
			if _, ok := f.callerOf(other); !ok {
				t.Error("a login without a token ended")
			}
		})
	}
}

func TestLoginLimit(t *testing.T) {
	f := newFixture(t, nil)
	first, _ := f.login()
	second, _ := f.login()
	for range maxLogins - 1 {
		f.clock.add(time.Second)
		if _, ok := f.callerOf(first); !ok {
			t.Fatal("an active login was removed")
		}
		code, _ := f.logins.newCode(Caller{Name: "n"})
		if _, _, ok := f.logins.redeem(code); !ok {
			t.Fatal("no login")
		}
	}
	if _, ok := f.callerOf(second); ok || len(f.logins.list) != maxLogins {
		t.Errorf("%d logins", len(f.logins.list))
	}
	for range 2 * maxCodes {
		f.logins.newCode(Caller{Name: "n"})
	}
	if len(f.logins.codes) != maxCodes {
		t.Errorf("%d codes", len(f.logins.codes))
	}
}

// Over TLS, of the daemon or of a proxy, the cookie is bound to the host.
func TestSecureCookie(t *testing.T) {
	a, err := New(&Options{Dir: t.TempDir(), Hosts: []string{"c.example"}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	h := a.Handler(http.HandlerFunc(a.Login), "/v1/login")
	for name, tt := range map[string]struct{ url, origin string }{
		"daemon": {"https://c.example/v1/login", "https://c.example"}, "daemon, no origin": {"https://c.example/v1/login", ""},
		"a proxy's": {"http://c.example/v1/login", "https://c.example"},
	} {
		code, _, _ := a.Link(t.Context(), Caller{Name: "n", Scopes: allScopes()})
		r := httptest.NewRequest(http.MethodPost, tt.url, strings.NewReader(`{"code":"`+code+`"}`))
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		set := w.Header().Get("Set-Cookie")
		if !strings.HasPrefix(set, "__Host-holdfast=") || !strings.Contains(set, "Secure") {
			t.Errorf("%s: %d %q", name, w.Code, set)
		}
		cookie, _, _ := strings.Cut(set, ";")
		r = httptest.NewRequest(http.MethodGet, strings.Replace(tt.url, "login", "x", 1), nil)
		r.Header.Set("Cookie", cookie)
		w = httptest.NewRecorder()
		a.Handler(whoami).ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "cookie n") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// The CSRF token is returned only to a caller that already has it: a server on another port of this
// host also gets the cookie from the browser.
func TestCSRFToken(t *testing.T) {
	f := newFixture(t, nil)
	cookie, csrf := f.login()
	_, value, _ := strings.Cut(cookie, "=")
	for given, want := range map[string]string{"": "", "x": "", csrf: csrf, csrf + "x": "", value: ""} {
		r := httptest.NewRequest(http.MethodGet, "/v1/info", nil)
		r.Header.Set("Cookie", cookie)
		r.Header.Set(CSRFHeader, given)
		c, ok, bad := f.cookie(r, peerFrom(r))
		if !ok || bad != nil || f.CSRF(c) != want {
			t.Errorf("%q: %q, %v", given, f.CSRF(c), bad)
		}
	}
}

func TestUpgradeNeedsOrigin(t *testing.T) {
	f := newFixture(t, nil)
	cookie, _ := f.login()
	token, _ := f.make(api.Token{Scopes: []api.Scope{api.ScopeRead}})
	up := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket"}
	for name, tt := range map[string]struct {
		header map[string]string
		status int
	}{
		"cookie":             {map[string]string{"Cookie": cookie}, 403},
		"cookie and origin":  {map[string]string{"Cookie": cookie, "Origin": f.tcp.URL}, 200},
		"cookie and foreign": {map[string]string{"Cookie": cookie, "Origin": "http://127.0.0.1:1"}, 403},
		"token":              {map[string]string{"Authorization": "Bearer " + token}, 200},
		"token and foreign":  {map[string]string{"Authorization": "Bearer " + token, "Origin": "https://evil.example"}, 403},
		"nothing":            {nil, 401},
	} {
		if got := f.do(call{header: joined(up, tt.header)}); got.status != tt.status {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}
