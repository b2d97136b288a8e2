package auth

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

// TestAccessTable checks every combination of an origin, a credential and a route: whether it is
// admitted, and as which caller.
func TestAccessTable(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Hosts = []string{"console.example.org", "10.1.2.3:99"}
		o.Origins = []string{"https://pages.example.org"}
	})
	later := f.clock.Now().Add(time.Hour)
	good, _ := f.make(api.Token{Name: "good", Scopes: []api.Scope{api.ScopeRead}})
	expired, _ := f.make(api.Token{Name: "old", Scopes: []api.Scope{api.ScopeRead}, Expires: &later})
	revoked, r := f.make(api.Token{Name: "gone", Scopes: []api.Scope{api.ScopeRead}})
	if err := f.Revoke(t.Context(), Caller{Name: "ann", Method: "cli"}, r.ID); err != nil {
		t.Fatal(err)
	}
	cookie, csrf := f.login()
	f.clock.add(time.Hour)
	own := strings.TrimPrefix(f.tcp.URL, "http://")
	_, port, _ := strings.Cut(own, ":")

	type credential struct {
		name, query string
		header      map[string]string
		unsafe      bool // POST
		status      int  // on a closed route
		open        int  // on an open one
		as          string
	}
	bearer := func(s string) map[string]string { return map[string]string{"Authorization": s} }
	credentials := []credential{
		{name: "none", status: 401, open: 200, as: "nobody"},
		{name: "good", header: bearer("Bearer " + good), status: 200, open: 200, as: "token good [read]"},
		{name: "good, other case", header: bearer("bearer " + good), status: 200, open: 200, as: "token good [read]"},
		{name: "good, post", header: bearer("Bearer " + good), unsafe: true, status: 200, open: 200, as: "token good [read]"},
		{name: "expired", header: bearer("Bearer " + expired), status: 401, open: 401},
		{name: "revoked", header: bearer("Bearer " + revoked), status: 401, open: 401},
		{name: "wrong", header: bearer("Bearer hf_" + strings.Repeat("A", 43)), status: 401, open: 401},
		{name: "longer", header: bearer("Bearer " + good + "A"), status: 401, open: 401},
		{name: "shorter", header: bearer("Bearer " + good[:len(good)-1]), status: 401, open: 401},
		{name: "empty", header: bearer(""), status: 401, open: 401},
		{name: "basic", header: bearer("Basic " + good), status: 401, open: 401},
		{name: "two spaces", header: bearer("Bearer  " + good), status: 401, open: 401},
		{name: "in query", query: "?access_token=" + good, status: 400, open: 400},
		{name: "in query, other name", query: "?x=1&t=" + good, status: 400, open: 400},
		{name: "in query, escaped", query: "?t=%68f_" + good[3:], status: 400, open: 400},
		{name: "in query, as name", query: "?" + good, status: 400, open: 400},
		{name: "in query, and good", query: "?t=" + good, header: bearer("Bearer " + good), status: 400, open: 400},
		{name: "cookie", header: map[string]string{"Cookie": cookie}, status: 200, open: 200, as: "cookie ann [read]"},
		{name: "cookie and csrf", header: map[string]string{"Cookie": cookie, CSRFHeader: csrf}, status: 200, open: 200, as: "cookie ann [admin]"},
		{name: "cookie, post", header: map[string]string{"Cookie": cookie}, unsafe: true, status: 403, open: 200, as: "nobody"},
		{name: "cookie, post, wrong csrf", header: map[string]string{"Cookie": cookie, CSRFHeader: csrf + "x"}, unsafe: true, status: 403, open: 200, as: "nobody"},
		{name: "cookie, post, csrf", header: map[string]string{"Cookie": cookie, CSRFHeader: csrf}, unsafe: true, status: 200, open: 200, as: "cookie ann [admin]"},
		{name: "csrf without cookie", header: map[string]string{CSRFHeader: csrf}, unsafe: true, status: 401, open: 200, as: "nobody"},
		{name: "wrong cookie", header: map[string]string{"Cookie": "holdfast=" + strings.Repeat("A", 46)}, status: 401, open: 200, as: "nobody"},
		{name: "cookie in place of a token", header: bearer("Bearer " + strings.TrimPrefix(cookie, "holdfast=")), status: 401, open: 401},
	}
	places := []struct {
		name      string
		host      string
		header    map[string]string
		ok        bool
		noHeaders bool // admits only requests without extra headers
	}{
		{name: "own", ok: true},
		{name: "localhost", host: "localhost:" + port, ok: true},
		{name: "upper", host: "LOCALHOST:" + port, ok: true},
		{name: "v6", host: "[::1]:" + port, ok: true},
		{name: "listed, any port", host: "console.example.org:1234", ok: true},
		{name: "listed, no port", host: "console.example.org", ok: true},
		{name: "listed with a dot", host: "console.example.org.", ok: true},
		{name: "listed port", host: "10.1.2.3:99", ok: true},
		{name: "listed, other port", host: "10.1.2.3:98"},
		{name: "other port", host: "127.0.0.1:1"},
		{name: "no port", host: "127.0.0.1"},
		{name: "rebound", host: "evil.example:" + port},
		{name: "below listed", host: "a.console.example.org"},
		{name: "decimal", host: "2130706433:" + port},
		{name: "zero", host: "0.0.0.0:" + port},
		{name: "own origin", header: map[string]string{"Origin": "http://" + own}, ok: true},
		{name: "own origin, fetched", header: map[string]string{"Origin": "http://" + own, "Sec-Fetch-Site": "same-origin"}, ok: true},
		{name: "listed origin", header: map[string]string{"Origin": "https://pages.example.org", "Sec-Fetch-Site": "cross-site"}, ok: true},
		{name: "listed host's origin, TLS by a proxy", host: "console.example.org", header: map[string]string{"Origin": "https://console.example.org"}, ok: true},
		{name: "own host, other scheme", header: map[string]string{"Origin": "https://" + own}},
		{name: "other port's origin", header: map[string]string{"Origin": "http://127.0.0.1:1"}},
		{name: "other name of the daemon", header: map[string]string{"Origin": "http://localhost:" + port}},
		{name: "foreign origin", header: map[string]string{"Origin": "https://evil.example"}},
		{name: "null origin", header: map[string]string{"Origin": "null"}},
		{name: "empty origin", header: map[string]string{"Origin": ""}},
		{name: "foreign origin, listed as suffix", header: map[string]string{"Origin": "https://pages.example.org.evil.example"}},
		{name: "origin with user", header: map[string]string{"Origin": "http://a@" + own}},
		{name: "cross-site", header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
		{name: "same site, other port", header: map[string]string{"Sec-Fetch-Site": "same-site"}},
		{name: "same origin", header: map[string]string{"Sec-Fetch-Site": "same-origin"}, ok: true},
		{name: "typed", header: map[string]string{"Sec-Fetch-Site": "none"}, ok: true},
		{name: "followed a link", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, ok: true, noHeaders: true},
		{name: "framed", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}},
	}
	combined := 0
	for _, p := range places {
		for _, c := range credentials {
			for _, path := range []string{"/v1/x", "/open"} {
				want := c.status
				if path == "/open" {
					want = c.open
				}
				if !p.ok || p.noHeaders && (c.unsafe || path != "/open") {
					want = http.StatusForbidden
				}
				f.failed = nil
				f.Auth.failed.byAddr = nil // the limit has a separate test
				got := f.do(call{path: path + c.query, host: p.host, method: methodOf(c.unsafe), header: joined(p.header, c.header)})
				name := fmt.Sprintf("%s, %s, %s", p.name, c.name, path)
				if got.status != want {
					t.Errorf("%s: %d %q, want %d", name, got.status, got.body, want)
				}
				if want == 200 && !strings.HasPrefix(got.body, c.as) {
					t.Errorf("%s: is %q, want %q", name, got.body, c.as)
				}
				if reported := len(f.failed); (want >= 400) != (reported == 1) {
					t.Errorf("%s: reported %q", name, f.failed)
				}
				if got.header.Get("Content-Security-Policy") == "" || got.header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s: headers %v", name, got.header)
				}
				if (want == 401) != (got.header.Get("WWW-Authenticate") != "") {
					t.Errorf("%s: challenge %q", name, got.header.Get("WWW-Authenticate"))
				}
				combined++
			}
		}
	}
	t.Logf("%d combinations", combined)
}

func methodOf(unsafe bool) string {
	if unsafe {
		return http.MethodPost
	}
	return http.MethodGet
}

func joined(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// On the unix socket, the uid decides, a token reduces the scopes, and requests from browsers and
// proxies are rejected.
func TestUnixAccessTable(t *testing.T) {
	f := newFixture(t, nil)
	good, _ := f.make(api.Token{Name: "good", Scopes: []api.Scope{api.ScopeRead}})
	cookie, _ := f.login()
	for _, tt := range []struct {
		name   string
		path   string
		host   string
		header map[string]string
		status int
		as     string
	}{
		{name: "as it is", status: 200, as: "unix "},
		{name: "open", path: "/open", status: 200, as: "unix "},
		{name: "localhost", host: "localhost", status: 200, as: "unix "},
		{name: "a name with dots", host: "evil.example", status: 403},
		{name: "a port", host: "localhost:80", status: 403},
		{name: "an address", host: "127.0.0.1", status: 403},
		{name: "a token lessens", header: map[string]string{"Authorization": "Bearer " + good}, status: 200, as: "token good [read]"},
		{name: "a wrong token", header: map[string]string{"Authorization": "Bearer hf_x"}, status: 401},
		{name: "a cookie says nothing", header: map[string]string{"Cookie": cookie}, status: 200, as: "unix "},
		{name: "origin", header: map[string]string{"Origin": "http://holdfast"}, status: 403},
		{name: "null origin", header: map[string]string{"Origin": "null"}, status: 403},
		{name: "proxy", header: map[string]string{"X-Forwarded-For": "10.0.0.1"}, status: 403},
		{name: "proxy of RFC 7239", header: map[string]string{"Forwarded": "for=10.0.0.1"}, status: 403},
		{name: "query", path: "/v1/x?t=" + good, status: 400},
	} {
		got := f.do(call{unix: true, path: tt.path, host: tt.host, header: tt.header})
		if got.status != tt.status || tt.status == 200 && !strings.HasPrefix(got.body, tt.as) {
			t.Errorf("%s: %d %q, want %d %q", tt.name, got.status, got.body, tt.status, tt.as)
		}
	}
	if got := f.do(call{unix: true}); !strings.Contains(got.body, "[admin approve read run] agent=false") {
		t.Errorf("the owner is %q", got.body)
	}
}

func TestOpenPaths(t *testing.T) {
	o := openPaths{"/", "!/metrics", "/v1/login", "/v1/public/", "!/v1/public/not", "!/private/"}
	for path, want := range map[string]bool{
		"/": true, "/app.js": true, "/sessions/x": true, "/metrics": false, "/metrics2": true, "/v1/": false, "/v1": true,
		"/v1/login": true, "/v1/login/": false, "/v1/login/link": false, "/v1/tokens": false, "/v1/public/a": true, "/v1/public/not": false,
		"/private/a": false, "/private": true, "//v1/tokens": false, "/a/../v1/tokens": false, "/v1/public/../tokens": false,
		"/./v1/x": false, "": false, "*": false, "v1": false, "/a//b": false, "/a/": true,
	} {
		if got := o.has(path); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
	if (openPaths{"/open"}).has("/") || openPaths(nil).has("/v1/x") {
		t.Error("an unlisted path is open")
	}
}
