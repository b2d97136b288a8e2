package auth

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

func TestSplitHost(t *testing.T) {
	for text, want := range map[string]string{
		"localhost": "localhost ", "LocalHost:80": "localhost 80", "a.example.": "a.example ", "127.0.0.1:1": "127.0.0.1 1",
		"[::1]": "::1 ", "[::1]:443": "::1 443", "[0:0::1]:443": "::1 443", "[::ffff:127.0.0.1]:1": "127.0.0.1 1", "xn--a-1fa:8": "xn--a-1fa 8",
	} {
		if host, port, ok := splitHost(text); !ok || host+" "+port != want {
			t.Errorf("%q: %q %q %t", text, host, port, ok)
		}
	}
	for _, bad := range []string{
		"", ":", ":80", "a:", "a:0", "a:65536", "a:080", "a:+1", "a:x", "a:1:2", "::1", "[::1", "[::1]x", "[::1]:", "[fe80::1%eth0]:1",
		"[127.0.0.1]", "a b", "a/b", "a@b", "a\x00", "ä.example", "a%2e", strings.Repeat("a", 301), ".",
	} {
		if host, port, ok := splitHost(bad); ok {
			t.Errorf("%q: %q %q", bad, host, port)
		}
	}
}

func TestOptionErrors(t *testing.T) {
	for _, o := range []Options{
		{Hosts: []string{"http://a"}},
		{Hosts: []string{""}},
		{Hosts: []string{"*"}},
		{Origins: []string{"a.example"}},
		{Origins: []string{"*"}},
		{Origins: []string{"null"}},
		{Origins: []string{"https://a/path"}},
		{Origins: []string{"ftp://a"}},
	} {
		o.Dir = t.TempDir()
		if _, err := New(&o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := New(&Options{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no folder: %v", err)
	}
}

// A daemon that listens on all addresses accepts the address of the connection as Host, but no
// name.
func TestUnspecified(t *testing.T) {
	h, err := newHosts(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.listen("https", &net.TCPAddr{IP: net.IPv4zero, Port: 7})
	if got := h.linkBase(&http.Request{}); got != "https://127.0.0.1:7" {
		t.Error(got)
	}
	for host, want := range map[string]bool{
		"localhost:7": true, "127.0.0.1:7": true, "10.0.0.5:7": true, "10.0.0.6:7": false, "10.0.0.5": false, "evil.example:7": false, "localhost:8": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		r = r.WithContext(withLocal(r, &net.TCPAddr{IP: net.ParseIP("10.0.0.5"), Port: 7}))
		if h.isKnownHost(r) != want {
			t.Errorf("%s: %t", host, !want)
		}
	}
}

func TestLimit(t *testing.T) {
	f := newFixture(t, nil)
	good, _ := f.make(api.Token{Scopes: []api.Scope{api.ScopeRead}})
	wrong := call{header: map[string]string{"Authorization": "Bearer hf_x"}}
	for i := range failBurst {
		if got := f.do(wrong); got.status != http.StatusUnauthorized {
			t.Fatalf("%d: %+v", i, got)
		}
	}
	got := f.do(wrong)
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "3" {
		t.Errorf("%+v", got)
	}
	if got := f.do(loginCall("x")); got.status != http.StatusTooManyRequests {
		t.Errorf("codes: %+v", got)
	}
	if got := f.do(call{header: map[string]string{"Authorization": "Bearer " + good}}); got.status != http.StatusOK {
		t.Errorf("a client with a valid token was locked out: %+v", got)
	}
	f.clock.add(failEvery)
	if got := f.do(wrong); got.status != http.StatusUnauthorized {
		t.Errorf("later: %+v", got)
	}
	if len(f.failed) != failBurst+3 {
		t.Errorf("reported %d failures", len(f.failed))
	}
}

func TestLimiterSize(t *testing.T) {
	c := &clock{now: time.Unix(1, 0)}
	l := &limiter{clock: c.Now}
	for i := range 3 * maxBuckets {
		l.fail(netip.MustParseAddr(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)))
	}
	if len(l.byAddr) > maxBuckets {
		t.Errorf("%d addresses", len(l.byAddr))
	}
	for i := range failBurst + 1 {
		_, over := l.fail(netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i)))
		if over != (i == failBurst) {
			t.Errorf("%d: %t", i, over)
		}
	}
	if _, over := l.fail(netip.MustParseAddr("2001:db8:0:1::1")); over {
		t.Error("another network must wait")
	}
}

func TestHello(t *testing.T) {
	f := newFixture(t, nil)
	good, _ := f.make(api.Token{Name: "n", Scopes: []api.Scope{api.ScopeRead}})
	r := httptest.NewRequest(http.MethodGet, "/v1/ws", nil)
	if c, ok := f.CheckHello(r, good); !ok || c.Name != "n" {
		t.Error(c, ok)
	}
	for _, bad := range []string{"", "hf_", good + "x", "x"} {
		if _, ok := f.CheckHello(r, bad); ok {
			t.Errorf("%q is accepted", bad)
		}
	}
	if len(f.failed) != 4 {
		t.Errorf("%q", f.failed)
	}
}

func TestIsLoopback(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true, "LOCALHOST:0": true, "[::ffff:127.0.0.1]:1": true,
		"0.0.0.0:1": false, ":1": false, "[::]:1": false, "10.0.0.1:1": false, "a.example:1": false, "127.0.0.1": false, "localhost.evil.example:1": false,
	} {
		if IsLoopback(text) != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
}

// TestPath checks that a token in a path is rejected and not logged.
func TestPath(t *testing.T) {
	token := newSecret()
	for path, want := range map[string]string{"/v1/x": "/v1/x", "/v1/hf_x": "/v1/hf_x", "/v1/" + token: "/v1/hf_…", "/a/" + token + "/" + token: "/a/hf_…"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		if got := Path(r); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	f := newFixture(t, nil)
	if got := f.do(call{path: "/v1/" + token}); got.status != http.StatusBadRequest {
		t.Errorf("a token in the path: %d %s", got.status, got.body)
	}
}

func FuzzHeaders(f *testing.F) {
	a, err := New(&Options{Dir: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	secret, _, err := a.CreateToken(f.Context(), Caller{Name: "ann", Method: "cli"}, api.Token{Name: "n", Scopes: []api.Scope{api.ScopeRead}})
	if err != nil {
		f.Fatal(err)
	}
	a.Listening(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})
	h := a.Handler(whoami)
	for _, s := range [][4]string{
		{"localhost", "http://localhost", "Bearer " + secret[:20], "holdfast=x"},
		{"[::1]:80", "null", "Basic Og==", "a=b; holdfast=\"x\""},
		{"localhost:80", "http://[::1]", "Bearer hf_", "__Host-holdfast="},
		{"\x00", "://", "bearer\thf_x", "holdfast"},
	} {
		f.Add(s[0], s[1], s[2], s[3], "a=b")
	}
	f.Fuzz(func(t *testing.T, host, origin, authorization, cookie, query string) {
		if strings.Contains(authorization+query, secret) {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "/v1/x", nil)
		r.Host, r.URL.RawQuery = host, query
		for name, v := range map[string]string{"Origin": origin, "Authorization": authorization, "Cookie": cookie} {
			if v != "" {
				r.Header[name] = []string{v}
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code < 400 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if w.Code != http.StatusForbidden && !strings.HasSuffix(strings.TrimSuffix(strings.ToLower(host), "."), "localhost") &&
			!strings.Contains(host, "127.0.0.1") && !strings.Contains(host, ":") {
			t.Errorf("the host %q was accepted", host)
		}
	})
}
