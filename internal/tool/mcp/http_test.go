package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
)

// httpServer is a server over HTTP that notes what it is sent.
type httpServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // method, path, and what proves who we are
}

func newHTTPServer(t testing.TB, h http.Handler) *httpServer {
	t.Helper()
	s := &httpServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Key")+r.Header.Get("Authorization")))
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.close)
	return s
}

func (s *httpServer) close() {
	s.CloseClientConnections()
	s.Close()
}

func (s *httpServer) requestLog() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.requests, "\n")
}

func streamable(s *sdk.Server) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}

func TestOverHTTP(t *testing.T) {
	for _, kind := range []Transport{HTTP, SSE} {
		t.Run(string(kind), func(t *testing.T) {
			h := streamable(newServer())
			if kind == SSE {
				h = sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return newServer() }, nil)
			}
			s := newHTTPServer(t, h)
			c, _ := open(t, nil, Server{Name: "web", Transport: kind, URL: s.URL + "/mcp", Headers: map[string]string{"X-Key": "${K}"}, StartTimeout: time.Minute})
			c.o.Environ = []string{"K=k1"}
			if got := text(call(t, lookup(t, c, "mcp__web__echo"), `{"Text":"hi"}`)); got != "hi" {
				t.Errorf("got %q", got)
			}
			for line := range strings.Lines(s.requestLog()) {
				if !strings.Contains(line, "k1") {
					t.Errorf("without its header: %s", line)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What proves who we are goes to the server that it is for.
func TestRedirectsAreNotFollowedElsewhere(t *testing.T) {
	other := newHTTPServer(t, streamable(newServer()))
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusFound} {
		s := newHTTPServer(t, http.RedirectHandler(elsewhere+"/mcp", status))
		c, _ := open(t, nil, Server{Name: "web", URL: s.URL, Headers: map[string]string{"X-Key": "k1"}})
		c.Tools(t.Context())
		if st := c.Status()[0]; st.State != Failed || !strings.Contains(st.Error, "redirects to another address") {
			t.Errorf("%d: %+v", status, st)
		}
	}
	// The older form names the address of its messages itself.
	s := newHTTPServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/mcp\n\n", elsewhere)
		w.(http.Flusher).Flush()
		time.Sleep(100 * time.Millisecond)
	}))
	c, _ := open(t, nil, Server{Name: "web", Transport: SSE, URL: s.URL, Headers: map[string]string{"X-Key": "k1"}})
	c.Tools(t.Context())
	if st := c.Status()[0]; st.State != Failed {
		t.Errorf("%+v", st)
	}
	if saw := other.requestLog(); saw != "" {
		t.Errorf("the other one saw %s", saw)
	}
}

// Connections keep to the rules of the network.
func TestEgress(t *testing.T) {
	s := newHTTPServer(t, streamable(newServer()))
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for allowed, want := range map[string]State{u.Host: Connected, "example.com": Failed} {
		rules, err := egress.Compile(egress.Layer{Allow: []string{allowed}})
		if err != nil {
			t.Fatal(err)
		}
		proxy, err := egress.New(rules, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, n := open(t, &Options{Egress: proxy}, Server{Name: "web", URL: s.URL + "/mcp"})
		c.Tools(t.Context())
		if st := c.Status()[0]; st.State != want || want == Failed && !strings.Contains(st.Error, "network.allowedDomains") {
			t.Errorf("%s: %+v, told %s", allowed, st, n)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLongAnswer(t *testing.T) {
	s := newHTTPServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":"`))
		for range 20 << 10 {
			if _, err := w.Write(make([]byte, 1024)); err != nil {
				return
			}
		}
	}))
	c, _ := open(t, nil, Server{Name: "web", URL: s.URL})
	c.Tools(t.Context())
	if st := c.Status()[0]; st.State != Failed || !strings.Contains(st.Error, "larger than 16 MiB") {
		t.Errorf("%+v", st)
	}
}

// A session that the server has forgotten is begun again, and the call made once: however
// the server says so, and whether it says so to the call or to who listens.
func TestForgottenSession(t *testing.T) {
	for name, body := range map[string]string{
		"in plain text": "no session",
		"in JSON-RPC":   `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			srv := newServer()
			h := streamable(srv)
			var mu sync.Mutex
			forget := false
			s := newHTTPServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				gone := forget && r.Header.Get("Mcp-Session-Id") != ""
				if gone && r.Method == http.MethodPost {
					forget = false
				}
				mu.Unlock()
				if gone {
					w.WriteHeader(http.StatusNotFound)
					_, _ = io.WriteString(w, body)
					return
				}
				h.ServeHTTP(w, r)
			}))
			c, _ := open(t, nil, Server{Name: "web", URL: s.URL})
			useLegacyProtocol(c)
			echo := lookup(t, c, "mcp__web__echo")
			mu.Lock()
			forget = true
			mu.Unlock()
			if got := text(call(t, echo, `{"Text":"hi"}`)); got != "hi" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// oauthServer is a server with logins: its own authorization server in one.
type oauthServer struct {
	*httpServer
	mu        sync.Mutex
	token     string // that is good now
	challenge string // PKCE
	refresh   int
	scope     string
	needs     string // scope
}

func newOAuthServer(t *testing.T) *oauthServer {
	a := &oauthServer{}
	mcp := streamable(newServer())
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		ok, missing := a.token != "" && r.Header.Get("Authorization") == "Bearer "+a.token, a.needs != "" && !strings.Contains(a.scope, a.needs)
		a.mu.Unlock()
		switch {
		case !ok:
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+a.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
		case missing:
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+a.needs+`"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			mcp.ServeHTTP(w, r)
		}
	})
	doc := func(v map[string]any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v)
		}
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		doc(map[string]any{"resource": a.URL + "/mcp", "authorization_servers": []string{a.URL}, "scopes_supported": []string{"read"}})(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		doc(map[string]any{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		})(w, r)
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"client_id":"c1","token_endpoint_auth_method":"none","redirect_uris":["http://127.0.0.1/"]}`)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		a.mu.Lock()
		a.challenge, a.scope = q.Get("code_challenge"), q.Get("scope")
		a.mu.Unlock()
		if q.Get("resource") != a.URL+"/mcp" || q.Get("code_challenge_method") != "S256" {
			t.Errorf("asked with %v", q)
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=the-code&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		switch {
		case r.FormValue("grant_type") == "refresh_token" && r.FormValue("refresh_token") == "r1":
			a.refresh++
		case base64.RawURLEncoding.EncodeToString(sum[:]) != a.challenge || r.FormValue("code") != "the-code":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		a.token = fmt.Sprintf("tok%d", len(a.token)+a.refresh)
		doc(map[string]any{"access_token": a.token, "token_type": "Bearer", "refresh_token": "r1", "expires_in": 3600})(w, r)
	})
	a.httpServer = newHTTPServer(t, mux)
	return a
}

// browse is a person with a browser.
func browse(t *testing.T) func(string) {
	return func(to string) {
		go func() {
			resp, err := http.Get(to)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		}()
	}
}

func TestOAuth(t *testing.T) {
	a := newOAuthServer(t)
	tokens := filepath.Join(t.TempDir(), "mcp")
	def := Server{Name: "web", URL: a.URL + "/mcp"}
	c, n := open(t, &Options{Tokens: tokens}, def)
	if got := names(c.Tools(t.Context())); got != "" {
		t.Errorf("tools %q", got)
	}
	if st := c.Status()[0]; st.State != NeedsAuth || st.Hint != "holdfast mcp login web" || !strings.Contains(n.String(), "needs authorisation") {
		t.Fatalf("%+v, told %s", st, n)
	}
	if strings.Contains(a.requestLog(), "/register") || strings.Contains(a.requestLog(), "/authorize") {
		t.Errorf("nobody wanted to log in: %s", a.requestLog())
	}
	var shownURL string
	if err := c.Login(t.Context(), "web", func(to string) { shownURL = to; browse(t)(to) }); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(shownURL, a.URL+"/authorize?") {
		t.Errorf("shown %s", shownURL)
	}
	if err := c.Connect(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	if got := text(call(t, lookup(t, c, "mcp__web__echo"), `{"Text":"hi"}`)); got != "hi" {
		t.Errorf("got %q", got)
	}
	files, err := filepath.Glob(tokens + "/*.json")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if dir, err := os.Stat(tokens); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, %v", dir.Mode(), err)
	}

	// Another run finds the token, and renews it when its time is up.
	store := c.tokens(def.URL)
	g, err := store.load()
	if err != nil {
		t.Fatal(err)
	}
	g.Expiry = time.Now().Add(time.Second)
	if err := store.save(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, &Options{Tokens: tokens}, def)
	if got := text(call(t, lookup(t, again, "mcp__web__echo"), `{"Text":"hi"}`)); got != "hi" || a.refresh != 1 {
		t.Errorf("got %q after %d renewals", got, a.refresh)
	}

	// A call that misses a scope says so, and the next login asks for it, too.
	a.mu.Lock()
	a.needs = "write"
	a.mu.Unlock()
	r := call(t, lookup(t, again, "mcp__web__echo"), `{"Text":"hi"}`)
	if !r.IsError || !strings.Contains(text(r), "holdfast mcp login web") {
		t.Errorf("got %q", text(r))
	}
	if err := again.Login(t.Context(), "web", browse(t)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.scope, "read") || !strings.Contains(a.scope, "write") {
		t.Errorf("asked for %q", a.scope)
	}
	if err := again.Logout("web"); err != nil {
		t.Error(err)
	}
	if _, err := store.load(); err == nil {
		t.Error("the token is still there")
	}
}

// Whoever does not know the state of a login cannot end it.
func TestLoginIsNotDisturbed(t *testing.T) {
	a := newOAuthServer(t)
	c, _ := open(t, &Options{Tokens: t.TempDir()}, Server{Name: "web", URL: a.URL + "/mcp"})
	err := c.Login(t.Context(), "web", func(to string) {
		u, err := url.Parse(to)
		if err != nil {
			t.Error(err)
			return
		}
		back := u.Query().Get("redirect_uri")
		for _, q := range []string{"?code=x&state=guess", "?error=access_denied&state=guess", "?error=x", "/more?state=" + u.Query().Get("state")} {
			resp, err := http.Get(back + q)
			if err != nil || resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %v, %v", q, resp, err)
				continue
			}
			resp.Body.Close()
		}
		browse(t)(to)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestLoginsThatFail(t *testing.T) {
	open1 := newHTTPServer(t, streamable(newServer()))
	for name, want := range map[string]string{"open": "does not request a login", "cmd": "does not support login", "key": "Authorization header", "none": "unknown server"} {
		c, _ := open(t, &Options{Tokens: t.TempDir()}, Server{Name: "open", URL: open1.URL}, Server{Name: "cmd", Command: "x"},
			Server{Name: "key", URL: "https://x.example", Headers: map[string]string{"authorization": "Bearer x"}})
		if err := c.Login(t.Context(), name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	a := newOAuthServer(t)
	c, _ := open(t, &Options{Tokens: t.TempDir()}, Server{Name: "web", URL: a.URL + "/mcp"})
	err := c.Login(t.Context(), "web", func(to string) {
		u, _ := url.Parse(to)
		resp, err := http.Get(u.Query().Get("redirect_uri") + "?error=access_denied&error_description=no%1b&state=" + url.QueryEscape(u.Query().Get("state")))
		if err == nil {
			resp.Body.Close()
		}
	})
	if err == nil || !strings.Contains(err.Error(), "access_denied no") || strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Login(ctx, "web", func(string) { cancel() }); err == nil || !strings.Contains(err.Error(), "the login was not completed") {
		t.Errorf("got %v", err)
	}
}

// A server elsewhere does not have us look around on this machine, nor in the clear.
func TestCheckURL(t *testing.T) {
	for text, want := range map[string]bool{
		"https://as.example/x": true, "http://as.example/x": false, "https://localhost/": false, "http://127.0.0.1:1/": false, "http://[::1]/": false, "file:///etc": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := checkURL(u, false) == nil; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	u := &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", "1")}
	if err := checkURL(u, true); err != nil {
		t.Error(err)
	}
}

func TestTokensThatAreNotUsed(t *testing.T) {
	c, _ := open(t, &Options{Tokens: t.TempDir()}, Server{Name: "web", URL: "https://x.example"})
	s := c.tokens("https://x.example")
	good := &tokenSet{Version: tokenSetVersion, URL: "https://x.example", Access: "a"}
	if err := s.save(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	if _, err := s.load(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.load(); err == nil || !strings.Contains(err.Error(), "readable by other users") {
		t.Errorf("a token that others can read: %v", err)
	}
	for _, raw := range []string{`{`, `{"version":2}`, `{"version":1,"url":"https://y.example","access_token":"a"}`, `{"version":1,"url":"https://x.example","access_token":"a\nb"}`} {
		if _, err := decodeTokenSet([]byte(raw), "https://x.example"); err == nil {
			t.Errorf("taken: %s", raw)
		}
	}
}
