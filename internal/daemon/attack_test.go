package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/listen"
)

// A client without the scope approve cannot start a run that skips approvals.
func TestStartWithoutApproval(t *testing.T) {
	w := newHTTPEnv(t)
	file := filepath.Join(t.TempDir(), "settings.json")
	must(t, os.WriteFile(file, []byte("{}"), 0o600))
	for body, want := range map[string]int{
		`{"cwd":"/","mode":"bypassPermissions"}`: 403,
		`{"cwd":"/","mode":"acceptEdits"}`:       403,
		`{"cwd":"/","mode":"auto"}`:              403,
		`{"cwd":"/","settings":"` + file + `"}`:  403,
		`{"cwd":"/","mode":"default"}`:           201,
		`{"cwd":"/","mode":"plan"}`:              201,
		`{"cwd":"/","mode":"dontAsk"}`:           201,
		`{"cwd":"/"}`:                            201,
	} {
		if got := w.do("POST", "/v1/runs", body, w.as(api.ScopeRun)); got.status != want {
			t.Errorf("%s: %s, want %d", body, got, want)
		}
	}
	both, _, err := w.auth.CreateToken(t.Context(), auth.Caller{Name: "ann", Method: "cli"}, api.Token{Name: "both", Scopes: []api.Scope{api.ScopeRun, api.ScopeApprove}})
	must(t, err)
	w.want(201, nil, "POST", "/v1/runs", `{"cwd":"/","mode":"acceptEdits","settings":"`+file+`"}`, "Authorization: Bearer "+both)
}

func TestStartWithoutApprovalOnSocket(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": "steps: [{text: done}]"}, nil)
	c := w.dial(w.token(api.ScopeRead, api.ScopeRun))
	for _, extra := range []string{`"mode":"bypassPermissions"`, `"mode":"auto"`, `"manifestPath":"/etc/passwd"`} {
		c.send(fmt.Sprintf(`{"type":"prepare_run","cwd":%q,%s,"strategy":%s}`, w.cwd, extra, soleWriter))
		if m := c.next(); m["code"] != "FORBIDDEN" {
			t.Errorf("%s: %v", extra, m)
		}
	}
	c.send(fmt.Sprintf(`{"type":"prepare_run","cwd":%q,"mode":"plan","strategy":%s}`, w.cwd, soleWriter))
	c.until("run_prepared")
}

// A browser sends the cookie to every port of 127.0.0.1, and any program with the cookie can
// pretend to be the console.
func TestCookieAlone(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": "steps: [{text: done}]"}, nil)
	cookie := w.login()
	h := http.Header{"Cookie": {cookie}, "Origin": {"http://" + w.address}}
	ws, res, err := websocket.Dial(t.Context(), "ws://"+w.address+"/v1/ws", &websocket.DialOptions{HTTPHeader: h}) //nolint:bodyclose // the connection is closed
	if err != nil {
		t.Fatal(err, res)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	c := &client{t, ws}
	for _, frame := range []string{
		fmt.Sprintf(`{"type":"prepare_run","cwd":%q,"strategy":%s}`, w.cwd, soleWriter),
		`{"type":"permission_decision","runId":"r","permissionRequestId":"q","decision":"allow"}`,
		`{"type":"set_mode","runId":"r","mode":"plan"}`, `{"type":"stop_run","runId":"r"}`,
	} {
		c.send(frame)
		if m := c.next(); m["code"] != "FORBIDDEN" {
			t.Errorf("%s: %v", frame, m)
		}
	}
	if got := w.status("/v1/tokens", h); got != 403 {
		t.Errorf("a cookie alone may list tokens: %d", got)
	}
	if got := w.status("/v1/sessions", h); got != 200 {
		t.Errorf("a cookie alone may not read: %d", got)
	}
}

// login logs in a browser and returns its cookie.
func (w *daemonEnv) login() string {
	w.t.Helper()
	code, _, err := w.auth.Link(w.t.Context(), auth.Caller{Name: "ann", Scopes: []api.Scope{api.ScopeAdmin}})
	must(w.t, err)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+w.address+"/v1/login", strings.NewReader(`{"code":"`+code+`"}`))
	must(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	must(w.t, err)
	defer res.Body.Close()
	cookie, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
	return cookie
}

func (w *daemonEnv) status(path string, h http.Header) int {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.address+path, nil)
	must(w.t, err)
	r.Header = h.Clone()
	res, err := http.DefaultClient.Do(r)
	must(w.t, err)
	defer res.Body.Close()
	return res.StatusCode
}

// The content of a file is not returned to a client that only named it.
func TestNamedFilesAreNotReturned(t *testing.T) {
	w := newHTTPEnv(t)
	dir := t.TempDir()
	const hidden = "hunter2"
	for name, text := range map[string]string{
		"shadow":      "root:$y$" + hidden + ":20228:0:99999:7:::\ndaemon:*:1::::\n",
		"environ":     "KEY=" + hidden + "\x00PATH=/bin\x00",
		"key.yaml":    "secret: " + hidden + "\n",
		"text.yaml":   hidden,
		"list.yml":    "- " + hidden,
		"broken.yaml": "a: {" + hidden + "\n",
		"twice.json":  `{"` + hidden + `":1,"` + hidden + `":2}`,
		"alias.yaml":  "a: *" + hidden,
		"tag.yaml":    "!" + hidden + " a",
	} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		body, err := json.Marshal(map[string]string{"cwd": dir, "strategy_path": path})
		must(t, err)
		got := w.do("POST", "/v1/runs", string(body), w.as(api.ScopeRun))
		if got.status != 400 || strings.Contains(string(got.body), hidden) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The server does not wait for a body that does not arrive, with or without a credential.
func TestSlowBody(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	read := func(w http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) }
	for name, next := range map[string]http.HandlerFunc{"refused": refuse, "read": read} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(withReadDeadline(next, 50*time.Millisecond))
			defer s.Close()
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			must(t, err)
			defer conn.Close()
			must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
			_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n{")
			must(t, err)
			if _, err := io.Copy(io.Discard, conn); err != nil { // until the server closes the connection
				t.Error(err)
			}
		})
	}
}

// A request may take longer than its body, and its context ends when the client disconnects.
func TestSlowRequest(t *testing.T) { synctest.Test(t, slowRequest) }

func slowRequest(t *testing.T) {
	gone := make(chan error, 1)
	s := &http.Server{Handler: withReadDeadline(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		<-time.After(150 * time.Millisecond)
		_, _ = fmt.Fprint(w, r.Context().Err())
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- r.Context().Err()
	}), 50*time.Millisecond)}
	l := listen.NewPipe()
	go func() { _ = s.Serve(l) }() // until it is closed
	defer s.Close()
	conn, err := l.Dial(t.Context(), "", "")
	must(t, err)
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1")
	must(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	defer res.Body.Close()
	b := make([]byte, 5)
	if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != "<nil>" {
		t.Errorf("%q, %v", b, err)
	}
	must(t, conn.Close())
	if err := <-gone; err != context.Canceled { //nolint:errorlint // it is not wrapped
		t.Error(err)
	}
}

// A connection above the limit is closed, existing connections continue, and a freed connection can
// be used.
func TestConnectionLimit(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	c := newConnLimit(6)
	s.Config.ConnState = c.state
	s.Start()
	defer s.Close()
	ask := func(conn net.Conn) error {
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			return err
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	var there []net.Conn
	for range 3 {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		must(t, err)
		defer conn.Close()
		must(t, ask(conn))
		there = append(there, conn)
	}
	more, err := net.Dial("tcp", s.Listener.Addr().String())
	must(t, err)
	defer more.Close()
	if err := ask(more); err == nil {
		t.Error("a connection above the limit was served")
	}
	must(t, ask(there[0]))
	must(t, there[1].Close())
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		must(t, err)
		err = ask(conn)
		conn.Close()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a freed connection was not used")
		}
	}
}
