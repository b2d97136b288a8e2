//go:build linux

package crashtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/missing"
)

// A daemon whose database goes away for a while, in front of which stands a proxy that
// refuses connections or says nothing: the run that waits stays waiting, the answer that is
// given meanwhile is refused with 503 and the question stays, /readyz tells within 2 s, the
// stream that follows the run ends, and when the store is back the run goes on and the
// command runs once. HOLDFAST_HEAVY=1 takes the database away for 5, 15, 30 and 120 s.
func TestStoreOutage(t *testing.T) {
	bin := buildProgram(t)
	outages := []time.Duration{14 * time.Second}
	if os.Getenv("HOLDFAST_HEAVY") == "1" {
		outages = []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, 120 * time.Second}
	}
	for _, kind := range []string{"postgres", "mysql", "redis", "s3"} {
		for _, mode := range []string{"refuse", "hang"} {
			for _, d := range outages {
				t.Run(fmt.Sprint(kind, "/", mode, "/", d), func(t *testing.T) {
					t.Parallel()
					outage(t, bin, kind, mode, d)
				})
			}
		}
	}
}

func outage(t *testing.T, bin, kind, mode string, d time.Duration) {
	text := os.Getenv("HOLDFAST_TEST_" + strings.ToUpper(kind))
	if text == "" {
		missing.Skip(t, "no HOLDFAST_TEST_%s", strings.ToUpper(kind))
	}
	p := newProxy(t)
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	settings := `{"permissions": {"ask": ["Bash"]}, "sandbox": {"enabled": false}}`
	work := t.TempDir()
	play := filepath.Join(work, "play.yaml")
	for name, text := range map[string]string{
		filepath.Join(home, "settings.json"): settings,
		play:                                 "steps:\n  - tool_uses: [{id: u1, tool: Bash, input: {command: \"echo ran >> ran\"}}]\n  - text: done\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	daemon := &daemonProcess{cmd: exec.Command(bin, "daemon"), said: &lockedBuffer{}, over: make(chan struct{})}
	daemon.cmd.Dir, daemon.cmd.Env = home, append(environ(home), "HOLDFAST_STORE="+p.before(t, kind, strings.ReplaceAll(text, "\\?", "?")))
	daemon.cmd.Stdout, daemon.cmd.Stderr, daemon.cmd.WaitDelay = daemon.said, daemon.said, time.Second
	if err := daemon.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(daemon.over)
		_ = daemon.cmd.Wait()
	}()
	t.Cleanup(daemon.kill)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the daemon said\n%s", daemon.said)
		}
	})
	a, ctx := newAPI(home), t.Context()
	if err := daemon.ready(ctx, a); err != nil {
		t.Fatal(err)
	}
	id := "run-" + filepath.Base(filepath.Dir(home)) + fmt.Sprint(time.Now().UnixNano())
	if _, err := a.call(ctx, http.MethodPost, "/v1/runs", map[string]any{
		"session_id": id, "model": "scripted/" + play, "cwd": work, "input": "go",
	}, nil); err != nil {
		t.Fatal(err)
	}
	var open struct{ Items []struct{ ID string } }
	within(t, 30*time.Second, "a question", func() bool {
		_, err := a.call(ctx, http.MethodGet, "/v1/approvals?session="+id, nil, &open)
		return err == nil && len(open.Items) == 1
	})
	decision := "/v1/approvals/" + open.Items[0].ID + "/decision"
	ended := make(chan struct{})
	go func() { // reads until the stream ends
		defer close(ended)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/sessions/"+id+"/events", nil)
		if err != nil {
			return
		}
		req.Header.Set("Accept", "text/event-stream")
		if res, err := a.http.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	}()
	p.set(mode)
	back := time.After(d)
	within(t, 10*time.Second, "503 of /readyz", func() bool {
		asked := time.Now()
		status, _ := a.call(ctx, http.MethodGet, "/readyz", nil, nil)
		if took := time.Since(asked); took > 4*time.Second { // 2 s, and what a busy machine takes
			t.Errorf("/readyz took %v", took)
		}
		return status == http.StatusServiceUnavailable
	})
	if status, err := a.call(ctx, http.MethodPost, decision, map[string]string{"decision": "allow"}, nil); status != http.StatusServiceUnavailable {
		t.Errorf("answered meanwhile: %d %v", status, err)
	}
	<-back
	p.set("")
	within(t, 30*time.Second, "the daemon to be ready", func() bool {
		status, _ := a.call(ctx, http.MethodGet, "/readyz", nil, nil)
		return status == http.StatusOK
	})
	if d > 20*time.Second {
		select {
		case <-ended:
		default:
			t.Error("the stream did not end")
		}
	}
	var info runInfo
	if _, err := a.call(ctx, http.MethodGet, "/v1/runs/"+id, nil, &info); err != nil || info.Status != "waiting" {
		t.Fatalf("after the outage the run is %+v, %v", info, err)
	}
	if _, err := a.call(ctx, http.MethodPost, decision, map[string]string{"decision": "allow"}, nil); err != nil {
		t.Fatal(err)
	}
	within(t, 60*time.Second, "the run to complete", func() bool {
		_, err := a.call(ctx, http.MethodGet, "/v1/runs/"+id, nil, &info)
		return err == nil && info.ended()
	})
	ran, _ := os.ReadFile(filepath.Join(work, "ran"))
	if info.Status != "completed" || string(ran) != "ran\n" {
		t.Errorf("%+v, ran %q", info, ran)
	}
}

func within(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(d); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %v", what, d)
		}
	}
}

// proxy stands before a server, and lets through, refuses or hangs.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	mode  string
	conns map[net.Conn]bool
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = l.Close()
		p.set("refuse")
	})
	return p
}

// before is a store's URL that leads through the proxy.
func (p *proxy) before(t *testing.T, kind, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("holdfast_outage%d", time.Now().UnixNano())
	q := u.Query()
	switch kind {
	case "s3":
		end, err := url.Parse(q.Get("endpoint"))
		if err != nil {
			t.Fatal(err)
		}
		p.to, end.Host = end.Host, p.listener.Addr().String()
		q.Set("endpoint", end.String())
		u.Path = "/" + name
	case "postgres":
		q.Set("schema", name)
	case "redis":
		q.Set("prefix", name+":")
	case "mysql":
		newDatabase(t, text, name)
		u.Path = "/" + name
	}
	if kind != "s3" {
		p.to, u.Host = u.Host, p.listener.Addr().String()
	}
	u.RawQuery = q.Encode()
	go p.serve()
	return u.String()
}

func (p *proxy) set(mode string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	if mode != "hang" { // what hung is cut when the server is back
		for c := range p.conns {
			_ = c.Close()
		}
		clear(p.conns)
	}
}

func (p *proxy) is(mode string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode == mode
}

func (p *proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.is("refuse") {
			_ = c.Close()
			continue
		}
		go p.pass(c)
	}
}

func (p *proxy) pass(c net.Conn) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.to)
	if err != nil {
		_ = c.Close()
		return
	}
	p.mu.Lock()
	p.conns[c], p.conns[server] = true, true
	p.mu.Unlock()
	go p.copy(server, c)
	p.copy(c, server)
}

// copy passes on what comes; while the proxy hangs it is kept from the other side for good.
func (p *proxy) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if p.is("hang") {
			continue
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
