package daemon

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

// On the unix socket, the peer's account is the credential. Only there can a client pass its
// environment and identify itself as the command line.
func TestUnixSocket(t *testing.T) {
	w := newHTTPEnv(t)
	path := filepath.Join(t.TempDir(), "d.sock")
	l, err := net.Listen("unix", path)
	must(t, err)
	s := &http.Server{Handler: w.server.Config.Handler, ConnContext: w.auth.ConnContext}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	defer func() {
		client.CloseIdleConnections()
		must(t, s.Close())
		<-done
	}()
	send := func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://holdfast"+path, strings.NewReader(body))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Holdfast-Client", "cli")
		resp, err := client.Do(r)
		must(t, err)
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		must(t, err)
		return resp.StatusCode, string(b)
	}
	status, body := send("POST", "/v1/runs", `{"session_id":"r1","cwd":"`+t.TempDir()+`","environ":["A=b"],"input":"push"}`)
	if status != 201 {
		t.Fatal(status, body)
	}
	q := w.waitApproval("r1", "git push")
	if status, body = send("POST", "/v1/approvals/"+q.ID+"/decision", `{"decision":"allow"}`); status != 200 || !strings.Contains(body, `"via":"cli"`) {
		t.Error(status, body)
	}
	w.waitStatus("r1", api.StatusCompleted)
	for body, want := range map[string]int{`{"cwd":"/","environ":["A"]}`: 400, `{"cwd":"/","environ":["=b"]}`: 400} {
		if status, got := send("POST", "/v1/runs", body); status != want {
			t.Error(body, status, got)
		}
	}
}
