package auth

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

// TestMain also runs the test binary as the client and the server in other processes.
func TestMain(m *testing.M) {
	switch os.Getenv("AUTH_TEST_CHILD") {
	case "get":
		os.Exit(childGet())
	case "hand-on":
		os.Exit(childPassOn())
	case "serve":
		os.Exit(childServe())
	}
	os.Exit(m.Run())
}

// childGet sends one request, AUTH_TEST_REQUEST, to a socket and prints the answer.
func childGet() int {
	conn, err := net.Dial(os.Getenv("AUTH_TEST_NET"), os.Getenv("AUTH_TEST_ADDR"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Fprint(conn, os.Getenv("AUTH_TEST_REQUEST"))
	b, _ := io.ReadAll(conn)
	os.Stdout.Write(b)
	return 0
}

// childPassOn connects and lets a child process, for which it does not wait, use the connection.
func childPassOn() int {
	conn, err := net.Dial("unix", os.Getenv("AUTH_TEST_ADDR"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	f, err := conn.(*net.UnixConn).File()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c := exec.Command("sh", "-c", `read gone; printf '%s' "$AUTH_TEST_REQUEST" >&3; cat <&3`)
	if _, err := c.StdinPipe(); err != nil { // it is closed when this process ends
		fmt.Println(err)
		return 1
	}
	c.ExtraFiles, c.Stdout, c.Stderr = []*os.File{f}, os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// childServe is a daemon in a separate process; it ends with its input.
func childServe() int {
	a, err := New(&Options{Dir: os.Getenv("AUTH_TEST_DIR")})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	l, err := net.Listen("unix", os.Getenv("AUTH_TEST_ADDR"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	s := &http.Server{Handler: a.Handler(whoami), ConnContext: a.ConnContext}
	go s.Serve(l)
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = s.Close()
	_ = a.Close()
	return 0
}

// whoami answers with the caller.
var whoami = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	c, ok := CallerFrom(r.Context())
	if !ok {
		fmt.Fprint(w, "nobody")
		return
	}
	fmt.Fprintf(w, "%s %s %v agent=%t", c.Method, c.Name, c.Scopes, c.Agent)
})

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is an Auth with a server on TCP and one on a unix socket, with the open path /open.
type fixture struct {
	*Auth
	t      *testing.T
	clock  *clock
	tcp    *httptest.Server
	socket string

	mu     sync.Mutex
	failed []string
}

func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	dir := shortDir(t)
	o := &Options{Dir: filepath.Join(dir, "run"), Clock: f.clock.Now, Failed: func(_ *http.Request, status int, why string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failed = append(f.failed, fmt.Sprint(status, " ", why))
	}}
	if change != nil {
		change(o)
	}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Auth = a
	t.Cleanup(func() { _ = a.Close() })
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/login", a.Login)
	mux.HandleFunc("POST /v1/logout", a.Logout)
	mux.Handle("/", whoami)
	h := a.Handler(mux, "/open", "/v1/login", "/v1/logout")
	f.tcp = httptest.NewUnstartedServer(h)
	f.tcp.Config.ConnContext = a.ConnContext
	f.tcp.Start()
	t.Cleanup(f.tcp.Close)
	a.Listening(f.tcp.Listener.Addr())
	f.socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ConnContext: a.ConnContext}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return f
}

// shortDir returns a folder that other users may enter, with a path short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// call is one request; the tests can set all of its parts.
type call struct {
	unix   bool
	method string // default: GET
	path   string // default: /v1/x
	host   string // default: a valid host
	body   string
	header map[string]string
}

type answer struct {
	status int
	body   string
	header http.Header
}

func (f *fixture) do(c call) answer {
	f.t.Helper()
	url := f.tcp.URL
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if c.unix {
		url = "http://holdfast"
		client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", f.socket)
		}}
	}
	if c.method == "" {
		c.method = http.MethodGet
	}
	if c.path == "" {
		c.path = "/v1/x"
	}
	req, err := http.NewRequest(c.method, url+c.path, strings.NewReader(c.body))
	if err != nil {
		f.t.Fatal(err)
	}
	if c.host != "" {
		req.Host = c.host
	}
	for k, v := range c.header {
		req.Header.Set(k, v)
	}
	res, err := client.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer{res.StatusCode, string(b), res.Header}
}

func (f *fixture) make(t api.Token) (string, api.Token) {
	f.t.Helper()
	if t.Name == "" {
		t.Name = "tester"
	}
	secret, made, err := f.CreateToken(f.t.Context(), Caller{Name: "ann", Method: "cli"}, t)
	if err != nil {
		f.t.Fatal(err)
	}
	return secret, made
}

// login logs in a browser and returns its cookie, as a header, and the CSRF token.
func (f *fixture) login(scopes ...api.Scope) (cookie, csrf string) {
	f.t.Helper()
	code, _, err := f.Link(f.t.Context(), Caller{Name: "ann", Scopes: append(scopes, api.ScopeAdmin)})
	if err != nil {
		f.t.Fatal(err)
	}
	if len(scopes) > 0 { // a login with fewer scopes than its creator cannot be created over HTTP
		f.logins.codes[len(f.logins.codes)-1].caller.Scopes = scopes
	}
	got := f.do(loginCall(code))
	if got.status != http.StatusOK {
		f.t.Fatalf("login: %d %s", got.status, got.body)
	}
	cookie, _, _ = strings.Cut(got.header.Get("Set-Cookie"), ";")
	_, rest, _ := strings.Cut(got.body, `"csrf":"`)
	csrf, _, _ = strings.Cut(rest, `"`)
	return cookie, csrf
}

func loginCall(code string) call {
	return call{
		method: http.MethodPost, path: "/v1/login", body: `{"code":"` + code + `"}`,
		header: map[string]string{"Content-Type": "application/json"},
	}
}

// child runs the test binary as another program, with this uid unless it is negative.
func child(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), env...)
	return c
}

func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return out.String()
}

const rawGet = "GET /v1/x HTTP/1.1\r\nHost: holdfast\r\nConnection: close\r\n\r\n"
