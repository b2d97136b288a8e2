package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/internal/tool/toolext"
	"github.com/holdfast-dev/holdfast/internal/tool/web"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// site is a server on this machine that stands for public hosts: their names lead to a
// public address, and connections there to the server.
type site struct {
	*httptest.Server
	hits   atomic.Int64
	dialed []string
	serve  http.HandlerFunc
}

func newSite(t testing.TB, secure bool, serve http.HandlerFunc) *site {
	t.Helper()
	s := &site{serve: serve}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		s.serve(w, r)
	}))
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// options lead every name to the site.
func (s *site) options() *web.Options {
	o := &web.Options{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			s.dialed = append(s.dialed, address)
			return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
		},
	}
	if s.TLS != nil {
		pool := x509.NewCertPool()
		pool.AddCert(s.Certificate())
		o.TLS = &tls.Config{RootCAs: pool}
	}
	return o
}

// call runs a tool as the loop does: nothing runs that its requests refuse.
func call(t testing.TB, o *web.Options, name, input string) (text string, isError bool) {
	t.Helper()
	w, err := web.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return callOf(t, w, name, input)
}

func callOf(t testing.TB, w *web.Web, name, input string) (text string, isError bool) {
	t.Helper()
	for _, x := range w.Tools() {
		if x.Spec().Name != name {
			continue
		}
		c := &tool.Call{Input: json.RawMessage(input)}
		if _, err := x.Requests(c); err != nil {
			return err.Error(), true
		}
		r, err := x.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return transcript.Item{Parts: r.Content}.Text(), r.IsError
	}
	t.Fatalf("there is no %s", name)
	return "", false
}

func fetch(u string) string { return fmt.Sprintf(`{"url":%q,"prompt":"what is it?"}`, u) }

func TestFetch(t *testing.T) {
	s := newSite(t, true, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
			w.Write([]byte("<html><head><title>T</title><script>evil()</script><style>p{}</style></head><body><h1>Caf\xe9</h1><p>a <b>bold</b> <a href=\"/x\">link</a></p><table><tr><th>k</th></tr><tr><td>v</td></tr></table></body></html>"))
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"a":1}`)
		case "/bare":
			w.Header()["Content-Type"] = nil
			fmt.Fprint(w, "just text")
		case "/png":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "\x89PNG\r\n")
		case "/missing":
			http.NotFound(w, r)
		case "/long":
			fmt.Fprint(w, strings.Repeat("é", 80_000))
		case "/large":
			w.Write(make([]byte, 6<<20))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			z := gzip.NewWriter(w)
			for range 64 {
				if _, err := z.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
			z.Close()
		case "/deep":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, strings.Repeat("<div><b>", 200_000)+"x")
		case "/agent":
			fmt.Fprint(w, r.Header.Get("User-Agent"), r.Header.Get("Cookie"), r.Header.Get("Authorization"))
		}
	})
	for path, want := range map[string]string{
		"/": "# Café\n\na **bold** [link](https://example.com/x)", "/json": `{"a":1}`, "/bare": "just text", "/agent": "---\nholdfast\n---",
		"/long": "the first 100000 of 160000 bytes",
	} {
		got, failed := call(t, s.options(), "WebFetch", fetch("http://example.com"+path))
		if failed || !strings.Contains(got, want) || strings.Contains(got, "evil") || !strings.Contains(got, "written by others") {
			t.Errorf("%s: %.600q", path, got)
		}
	}
	for path, want := range map[string]string{
		"/png": "image/png (6 bytes), not text", "/missing": "HTTP 404", "/large": "larger than 5 MB", "/bomb": "larger than 5 MB", "/deep": "converting the HTML failed",
	} {
		if got, failed := call(t, s.options(), "WebFetch", fetch("https://example.com"+path)); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %.300q", path, got)
		}
	}
	for _, a := range s.dialed {
		if a != "93.184.216.34:443" {
			t.Errorf("it connected to %s", a)
		}
	}
}

func TestFetchRefusesAddresses(t *testing.T) {
	s := newSite(t, false, func(http.ResponseWriter, *http.Request) {})
	o := s.options()
	for address, want := range map[string]string{
		"127.0.0.1": "private address", "10.0.0.8": "private address", "169.254.169.254": "private address", "::1": "private address",
		"::ffff:192.168.1.1": "private address", "64:ff9b::7f00:1": "private address",
	} {
		o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(address)}, nil
		}
		if got, failed := call(t, o, "WebFetch", fetch("https://rebind.example/")); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %q", address, got)
		}
	}
	for u, want := range map[string]string{
		"http://127.0.0.1:80/": "no entry names this address", "http://127.1/": "no entry names", "http://0x7f000001/": "no entry names",
		"http://localhost:3000/": "no entry names this machine", "http://[::1]:8080/": "no entry names", "https://169.254.169.254/latest/meta-data": "no entry names",
		"https://user:pw@example.com/": "name or password", "file:///etc/passwd": "want https", "ftp://example.com/": "want https", "gopher:x": "want https",
		"https://b\u00fccher.example/": "punycode", "https://exa mple.com/": "invalid URL", "https:///x": "is not a host", "https://example.com:22/": "for port 22",
		"https://" + strings.Repeat("a", 2000): "at most 2000", "": "want https", "https://example.com:99999/": "",
	} {
		if got, failed := call(t, s.options(), "WebFetch", fetch(u)); !failed || !strings.Contains(got, want) {
			t.Errorf("%q: %q", u, got)
		}
	}
	o = s.options()
	o.Layers = []egress.Layer{{Allow: []string{"docs.example"}, Deny: []string{"*.evil.example"}}}
	for u, want := range map[string]string{"https://other.example/": `add "other.example" to network.allowedDomains`, "https://a.evil.example/": `denied by "*.evil.example"`} {
		if got, failed := call(t, o, "WebFetch", fetch(u)); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %q", u, got)
		}
	}
	if len(s.dialed) > 0 {
		t.Errorf("it connected to %q", s.dialed)
	}
}

func TestRedirects(t *testing.T) {
	s := newSite(t, true, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/there?x=1", http.StatusFound)
		case "/there":
			fmt.Fprint(w, "arrived")
		case "/away":
			http.Redirect(w, r, "http://www.example.com/there", http.StatusMovedPermanently)
		case "/port":
			http.Redirect(w, r, "https://example.com:8443/", http.StatusFound)
		case "/meta":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		}
	})
	for path, want := range map[string]string{
		"/here": "from https://example.com/there?x=1", "/away": "redirects to another host (HTTP 301): https://www.example.com/there",
		"/port": "redirects to another host (HTTP 302): https://example.com:8443/", "/meta": "redirects to another host (HTTP 302): http://169.254.169.254",
	} {
		if got, failed := call(t, s.options(), "WebFetch", fetch("https://example.com"+path)); failed || !strings.Contains(got, want) {
			t.Errorf("%s: %q", path, got)
		}
	}
	s.hits.Store(0)
	for path, want := range map[string]string{"/file": "cannot be fetched", "/round": "more than 10 times"} {
		if got, failed := call(t, s.options(), "WebFetch", fetch("https://example.com"+path)); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %q", path, got)
		}
	}
	if n := s.hits.Load(); n != 12 {
		t.Errorf("%d requests", n)
	}
}

func TestCacheAndSummary(t *testing.T) {
	s := newSite(t, true, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the page") })
	o := s.options()
	now := time.Unix(1e9, 0)
	o.Now = func() time.Time { return now }
	o.Summarise = func(_ context.Context, prompt, text string) (string, error) {
		if text != "the page" {
			return "", errors.New("no text")
		}
		return "answer to " + prompt, nil
	}
	w, err := web.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{1, 1, 2} {
		if i == 2 {
			now = now.Add(15 * time.Minute)
		}
		if got, failed := callOf(t, w, "WebFetch", fetch("https://example.com/a#b")); failed || !strings.Contains(got, "answer to what is it?") || s.hits.Load() != want {
			t.Errorf("%d: %d requests, %q", i, s.hits.Load(), got)
		}
	}
}

// What the guard judges is the host and port that are connected to.
func TestRequests(t *testing.T) {
	brave, err := web.NewBrave("key", "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := web.New(&web.Options{Searcher: brave})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ input, want string }{
		{fetch("http://Example.COM./a"), "example.com:443"},
		{`{"query":"go generics"}`, "api.search.brave.com:443"},
	} {
		reqs, err := w.Tools()[i].Requests(&tool.Call{Input: json.RawMessage(c.input)})
		if err != nil || len(reqs) != 1 || reqs[0].Operation != policy.OpConnect || reqs[0].Resource != c.want || !reqs[0].ReadOnly {
			t.Errorf("%s: %+v, %v", c.input, reqs, err)
		}
	}
	refused := w.Tools()[0].(toolext.DenialWriter).Denial(&tool.Call{Input: json.RawMessage(fetch("https://example.com"))}, policy.Decision{By: "mode silent", Reason: "no"})
	if !strings.Contains(refused, "WebFetch(domain:example.com) in permissions.allow") {
		t.Error(refused)
	}
}

// The proxy of the environment gets the names; NO_PROXY goes past it.
func TestProxyOfTheEnvironment(t *testing.T) {
	s := newSite(t, true, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "through") })
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host)
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		own, ahead, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(own, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(own, c); own.Close() }()
		_, _ = io.Copy(c, ahead)
		c.Close()
	}))
	defer proxy.Close()
	o := s.options()
	direct := o.Dial
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == strings.TrimPrefix(proxy.URL, "http://") {
			return net.Dial(network, address)
		}
		return direct(ctx, network, address)
	}
	o.Environ = []string{"HTTPS_PROXY=" + proxy.URL, "NO_PROXY=.other.example"}
	for _, host := range []string{"example.com", "a.other.example"} {
		o.TLS.ServerName = "example.com"
		if got, failed := call(t, o, "WebFetch", fetch("https://"+host+"/")); host == "example.com" && (failed || !strings.Contains(got, "through")) {
			t.Errorf("%s: %q", host, got)
		}
	}
	if len(asked) != 1 || asked[0] != "CONNECT example.com:443" {
		t.Errorf("the proxy was asked %q", asked)
	}
	if got, failed := call(t, o, "WebFetch", fetch("https://169.254.169.254/")); !failed || len(asked) != 1 {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{"socks5://h:1", "http://user:pw@h:1", "http://"} {
		if got, failed := call(t, &web.Options{Environ: []string{"HTTPS_PROXY=" + bad}}, "WebFetch", fetch("https://example.com")); !failed || strings.Contains(got, "pw") || !strings.Contains(got, "HTTPS_PROXY: want") {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

// braveSays is an answer as the service documents it.
const braveSays = `{"type":"search","query":{"original":"x","more_results_available":false},"web":{"type":"search","results":[
	{"title":"Generics &amp; <strong>Go</strong>","url":"https://go.dev/doc","description":"How a < b\nworks","age":"2 days ago","extra_snippets":["more"]},
	{"title":"Other","url":"https://sub.blocked.example/x","description":""},{"title":"Bad","url":"javascript:alert(1)","description":""}]}}`

func TestSearch(t *testing.T) {
	key := "BSA" + "secret0123456789"
	var got *url.URL
	status := http.StatusOK
	s := newSite(t, false, func(w http.ResponseWriter, r *http.Request) {
		got = r.URL
		if r.Header.Get("X-Subscription-Token") != key || r.Header.Get("Accept") != "application/json" {
			status = http.StatusUnauthorized
		}
		w.WriteHeader(status)
		fmt.Fprint(w, braveSays, key[:0])
	})
	brave, err := web.NewBrave(key, "http://search.example:8080/res/v1/")
	if err != nil {
		t.Fatal(err)
	}
	o := s.options()
	o.Searcher = brave
	text, failed := call(t, o, "WebSearch", `{"query":"go generics","blocked_domains":["blocked.example"]}`)
	if failed || !strings.Contains(text, "1. Generics & Go\n   https://go.dev/doc\n   2 days ago\n   How a < b works … more") || strings.Contains(text, "2. ") {
		t.Errorf("%q", text)
	}
	if got.Path != "/res/v1/web/search" || got.Query().Get("q") != "go generics -site:blocked.example" {
		t.Errorf("asked %s", got)
	}
	if text, _ := call(t, o, "WebSearch", `{"query":"xx","allowed_domains":["go.dev","x.example"]}`); strings.Contains(text, "2. ") || got.Query().Get("q") != "xx (site:go.dev OR site:x.example)" {
		t.Errorf("%s: %q", got, text)
	}
	for code, want := range map[int]string{401: "rejected the key", 429: "too many searches", 500: "HTTP 500", 302: "HTTP 302"} {
		status = code
		if text, failed := call(t, o, "WebSearch", `{"query":"go"}`); !failed || !strings.Contains(text, want) || strings.Contains(text, key) {
			t.Errorf("%d: %q", code, text)
		}
	}
	for input, want := range map[string]string{
		`{"query":"x"}`: "two characters", `{"query":"xx","allowed_domains":["a.org"],"blocked_domains":["b.org"]}`: "not both",
		`{"query":"xx","allowed_domains":["https://a.org"]}`: "invalid domain", `{"query":"` + strings.Repeat("x", 401) + `"}`: "at most 400",
	} {
		if text, failed := call(t, o, "WebSearch", input); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %q", input, text)
		}
	}
	if said := fmt.Sprintf("%v %+v %#v %s", brave, brave, brave, brave); strings.Contains(said, key) {
		t.Errorf("it tells its key: %s", said)
	}
	o.Layers = []egress.Layer{{Allow: []string{"elsewhere.example"}}}
	if text, failed := call(t, o, "WebSearch", `{"query":"go"}`); !failed || !strings.Contains(text, "network.allowedDomains") {
		t.Errorf("%q", text)
	}
}

func TestNewBraveRefuses(t *testing.T) {
	for _, c := range [][2]string{{"", ""}, {"a b", ""}, {"k\n", ""}, {"k", "ftp://x"}, {"k", "https://u:p@x"}, {"k", "x"}} {
		if _, err := web.NewBrave(c[0], c[1]); err == nil {
			t.Errorf("%q is taken", c)
		}
	}
}

func FuzzReadable(f *testing.F) {
	f.Add([]byte("<table><tr><td><ul><li>x"), "text/html; charset=utf-16")
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		s := newSite(t, true, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{strings.NewReplacer("\r", "", "\n", "").Replace(kind)}
			w.Write(bytes.Clone(body))
		})
		call(t, s.options(), "WebFetch", fetch("https://example.com/"))
	})
}

func ExampleNew() {
	w, err := web.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := w.Tools()[0].Run(context.Background(), &tool.Call{Input: json.RawMessage(`{"url":"http://localhost:631/"}`)})
	fmt.Println(strings.SplitN(res.Content[0].(transcript.Text).Text, "\n", 2)[0], err)
	// Output: refused: localhost:631: no entry names this machine (network.allowedDomains) <nil>
}

func ExampleNewBrave() {
	brave, err := web.NewBrave("the-key", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := web.New(&web.Options{Searcher: brave})
	fmt.Println(len(w.Tools()), brave, err)
	// Output: 2 Brave Search at https://api.search.brave.com/res/v1 <nil>
}
