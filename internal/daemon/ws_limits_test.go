package daemon

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

func TestUpgradeRequired(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	for _, path := range []string{"/v1/ws", "/ws"} {
		res := w.fetch(path, w.token(api.ScopeRead))
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(res.body, "this route is a WebSocket") {
			t.Errorf("%s: %d %s", path, res.StatusCode, res.body)
		}
	}
	if res := w.fetch("/health", ""); res.StatusCode != http.StatusOK || !strings.Contains(res.body, `"connectedClients":0`) {
		t.Errorf("%d %s", res.StatusCode, res.body)
	}
	w.ann().send(`{"type":"ping"}`)
	if res := w.fetch("/health", ""); !strings.Contains(res.body, `"connectedClients":1`) {
		t.Error(res.body)
	}
}

type fetched struct {
	*http.Response
	body string
}

func (w *daemonEnv) fetch(path, token string) fetched {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.address+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return fetched{res, string(b)}
}

func TestConnect(t *testing.T) {
	w := beginDaemon(t, nil, func(l *limits) { l.connections, l.anonymous = 3, 1 })
	refused := func(token string, status int) {
		t.Helper()
		if _, got, err := w.tryDial(token); err == nil || got != status {
			t.Errorf("%v %v, want %d", got, err, status)
		}
	}
	refused(w.token(api.ScopeApprove), http.StatusForbidden)
	refused("hf_wrong", http.StatusUnauthorized)
	anonymous := w.dial("")
	refused("", http.StatusServiceUnavailable) // one is connected already
	anonymous.send(fmt.Sprintf(`{"type":"hello","token":%q}`, w.token(api.ScopeRead)))
	anonymous.until("hello")
	other := w.dial("") // and now none
	w.ann()
	refused(w.token(api.ScopeRead), http.StatusServiceUnavailable)
	_ = other.ws.CloseNow()
	w.waitConnections(2)
	w.ann()
}

// waitConnections waits until this many connections are open.
func (w *daemonEnv) waitConnections(n int) {
	w.t.Helper()
	w.eventually("connections end", func() bool { return w.server.sockets.count() == n })
}

func (w *daemonEnv) eventually(what string, ok func() bool) {
	w.t.Helper()
	late := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-late:
			w.t.Fatal("timeout waiting for: ", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestHelloTimeout(t *testing.T) {
	w := beginDaemon(t, nil, func(l *limits) { l.hello = 20 * time.Millisecond })
	if code := w.dial("").closeCode(); code != websocket.StatusPolicyViolation {
		t.Errorf("closed with %d", code)
	}
	late := w.dial("")
	_ = late.write(fmt.Sprintf(`{"type":"hello","token":%q}`, w.token(api.ScopeRead))) // it may be closed already
	if b, err := late.read(); err == nil && object(t, b)["type"] == "hello" {          // in time: the connection stays open
		late.send(`{"type":"ping"}`)
		late.until("pong")
	}
}

func TestMessageSizeBeforeHello(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	c := w.dial("")
	c.send(`{"type":"hello","token":"` + strings.Repeat("x", unauthenticatedMessageSize) + `"}`)
	if m := c.next(); m["code"] != string(wire.CodeTooLarge) {
		t.Errorf("%v", m)
	}
	if code := c.closeCode(); code != websocket.StatusMessageTooBig {
		t.Errorf("closed with %d", code)
	}
}

func TestMessageTooLarge(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	c := w.ann()
	fits := `{"type":"ping"` + strings.Repeat(" ", 1<<20-len(`{"type":"ping"}`)) + `}`
	c.send(fits)
	c.until("pong")
	c.send(fits + " ")
	if m := c.next(); m["code"] != string(wire.CodeTooLarge) {
		t.Errorf("%v", m)
	}
	if code := c.closeCode(); code != websocket.StatusMessageTooBig {
		t.Errorf("closed with %d", code)
	}
}

func TestTextFramesOnly(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	c := w.ann()
	if err := c.ws.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	if m := c.next(); m["code"] != string(wire.CodeParse) {
		t.Errorf("%v", m)
	}
	if code := c.closeCode(); code != websocket.StatusUnsupportedData {
		t.Errorf("closed with %d", code)
	}
}

func TestTooManyMessages(t *testing.T) {
	w := beginDaemon(t, nil, func(l *limits) { l.rate, l.excess = 0, 50 })
	c, other := w.ann(), w.ann()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range 1000 {
			if c.write(fmt.Sprintf(`{"type":"ping","requestId":"%d"}`, i)) != nil {
				return // it was closed
			}
		}
	}()
	pongs, limited := 0, 0
	for {
		b, err := c.read()
		if err != nil {
			if code := websocket.CloseStatus(err); code != websocket.StatusPolicyViolation {
				t.Errorf("closed with %d: %v", code, err)
			}
			break
		}
		switch m := object(t, b); {
		case m["type"] == "pong":
			pongs++
		case m["code"] == string(wire.CodeRateLimited) && m["requestId"] != "":
			limited++
		default:
			t.Errorf("%s", b)
		}
	}
	<-sent
	if pongs != 200 || limited < 50 {
		t.Errorf("%d were served, %d were rejected by the rate limit", pongs, limited)
	}
	other.send(`{"type":"ping"}`)
	other.until("pong")
}

func TestLongMessageRate(t *testing.T) {
	w := beginDaemon(t, nil, func(l *limits) { l.rate = 0 })
	c := w.ann()
	long := `{"type":"ping"` + strings.Repeat(" ", 900_000) + `}`
	served := 0
	for range 8 {
		c.send(long)
		if c.next()["type"] == "pong" {
			served++
		}
	}
	if served != 3 {
		t.Errorf("%d of 8 long messages were served at once", served)
	}
}

func TestControlFrameLimit(t *testing.T) {
	w := beginDaemon(t, nil, func(l *limits) { l.rate, l.excess = 0, 50 })
	c, other := w.ann(), w.ann()
	go func() { _, _ = c.read() }()
	ended := false
	for range 1000 {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		err := c.ws.Ping(ctx)
		stop()
		if ended = err != nil; ended {
			break
		}
	}
	if !ended {
		t.Error("1000 pings were answered")
	}
	other.send(`{"type":"ping"}`)
	other.until("pong")
}

func TestSubscriptionLimit(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": "steps: [{text: x}]"}, func(l *limits) { l.subs = 2 })
	c, maker := w.ann(), w.ann()
	subscribe := func(run string) map[string]any {
		c.send(fmt.Sprintf(`{"type":"subscribe","runId":%q,"requestId":"s"}`, run))
		return c.next()
	}
	ids := []string{maker.prepare(w.cwd), maker.prepare(w.cwd)}
	third := w.ann().prepare(w.cwd)
	for _, id := range ids {
		if m := subscribe(id); m["type"] != "subscribed" {
			t.Errorf("%v", m)
		}
		c.until("caught_up")
	}
	if m := subscribe(third); m["code"] != string(wire.CodeSubscribe) || m["requestId"] != "s" {
		t.Errorf("%v", m)
	}
	if m := subscribe(ids[0]); m["type"] != "subscribed" { // it replaces the existing one
		t.Errorf("%v", m)
	}
	c.until("caught_up")
	c.send(fmt.Sprintf(`{"type":"unsubscribe","runId":%q}`, ids[0]))
	c.until("unsubscribed")
	if m := subscribe(third); m["type"] != "subscribed" {
		t.Errorf("%v", m)
	}
}

func TestRevokedCredential(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	secret, made, err := w.auth.CreateToken(t.Context(), auth.Caller{Name: "ann", Method: "cli"}, api.Token{Name: "bob", Scopes: []api.Scope{api.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	bob, again, ann := w.dial(secret), w.dial(""), w.ann()
	again.send(fmt.Sprintf(`{"type":"hello","token":%q}`, secret))
	again.until("hello")
	if err := w.auth.Revoke(t.Context(), auth.Caller{Name: "ann", Method: "cli"}, made.ID); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*client{bob, again} {
		if code := c.closeCode(); code != websocket.StatusPolicyViolation {
			t.Errorf("closed with %d", code)
		}
	}
	ann.send(`{"type":"ping"}`)
	ann.until("pong")
	w.waitConnections(1)
	w.eventually("the watch of an unused credential to end", func() bool {
		s := w.server.sockets
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.revoked) == 1
	})
}

func TestPingTimeout(t *testing.T) {
	w := beginDaemon(t, nil, func(l *limits) { l.ping, l.pong = 10*time.Millisecond, 50*time.Millisecond })
	w.ann() // it never reads, so it never answers a ping
	w.waitConnections(0)
}

func TestPingAnswered(t *testing.T) {
	w := beginDaemon(t, nil, func(l *limits) { l.ping = time.Millisecond })
	pings := make(chan bool)
	w.pinged = func() {
		select {
		case pings <- true:
		case <-t.Context().Done():
		}
	}
	alive := w.ann()
	go func() { _, _ = alive.read() }() // answers pings
	for range 5 {                       // the next is sent after the previous one was answered
		<-pings
	}
	w.waitConnections(1)
	alive.send(`{"type":"ping"}`)
}

// A panic ends only its own connection.
func TestPanic(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	c, other := w.ann(), w.ann()
	engine := w.server.sockets.o.Runs
	w.server.sockets.o.Runs = nil
	c.send(`{"type":"list_runs"}`)
	if code := c.closeCode(); code != websocket.StatusInternalError {
		t.Errorf("closed with %d", code)
	}
	w.waitConnections(1)
	w.server.sockets.o.Runs = engine
	other.send(`{"type":"list_runs"}`)
	other.until("run_list")
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	w := beginDaemon(t, nil, nil)
	var clients []*client
	for range 5 {
		clients = append(clients, w.ann())
	}
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			if code := c.closeCode(); code != websocket.StatusGoingAway {
				t.Errorf("closed with %d", code)
			}
		})
	}
	silent := w.ann() // does not answer the close frame
	for range 2 {     // cd-srv-038
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		if err := w.server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		stop()
	}
	all.Wait()
	if n := w.server.sockets.count(); n != 0 {
		t.Errorf("%d are open", n)
	}
	if _, _, err := w.tryDial(w.token(api.ScopeRead)); err == nil {
		t.Error("it still accepts connections")
	}
	_ = silent.ws.CloseNow()
}

// A shutdown whose context has ended cuts off connections that do not answer.
func TestShutdownWithoutTime(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	w.ann()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_ = w.server.Shutdown(ctx) // there may be nothing to wait for
	if n := w.server.sockets.count(); n != 0 {
		t.Errorf("%d are open", n)
	}
}

func TestNewChecksOptions(t *testing.T) {
	w := beginDaemon(t, nil, nil)
	whole := w.server.o
	for name, without := range map[string]func(*Options){
		"Sessions": func(o *Options) { o.Sessions = nil }, "Hub": func(o *Options) { o.Hub = nil },
		"Runs": func(o *Options) { o.Runs = nil }, "Auth": func(o *Options) { o.Auth = nil }, "Env": func(o *Options) { o.Env = nil },
	} {
		o := whole
		without(&o)
		if _, err := New(&o); err == nil {
			t.Errorf("without %s", name)
		}
	}
	if _, err := New(nil); err == nil {
		t.Error("without options")
	}
}
