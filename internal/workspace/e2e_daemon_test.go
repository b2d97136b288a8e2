//go:build unix

package workspace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Runs of a daemon in a workspace: a stopped run, a run whose client is interrupted, a run that is deleted
// with its workspace, and a run whose daemon is killed. None leaves a process inside, and the session can be
// resumed.
func TestE2EDaemon(t *testing.T) {
	t.Parallel()
	v := newE2E(t)
	d := v.daemon()

	run := v.post("/v1/runs", `{"workspace": "blog", "input": "wait"}`)
	v.awaitWaitPrompt()
	if n := len(v.processes()); n < 3 {
		t.Errorf("%d processes: nothing works inside", n)
	}
	v.post("/v1/runs/"+run+"/stop", "")
	v.idle()

	client := v.startWithDaemon("run", "--workspace", "blog", "wait")
	v.awaitWaitPrompt()
	client.kill(syscall.SIGINT)
	client.expect(130, "interrupted")
	v.idle()

	v.post("/v1/runs", `{"workspace": "blog", "input": "wait"}`)
	v.awaitWaitPrompt()
	v.okay(d.cmd.Process.Kill())
	_ = d.cmd.Wait() // it was killed
	v.idle()
	if list := v.containers(); len(list) != 1 || list[0].State != "running" {
		t.Errorf("containers run on when a daemon ends: %+v", list)
	}

	v.daemon()
	again := v.startWithDaemon("run", "--workspace", "blog", "--permission-mode", "acceptEdits", "write again")
	again.expect(0, "wrote it")
	v.checkFile("again")
	v.post("/v1/runs", `{"workspace": "blog", "input": "wait"}`)
	v.awaitWaitPrompt()
	v.ask(http.MethodDelete, "/v1/workspaces/blog", "")
	v.nothingLeft()
	v.must("sessions", "verify", "--all")
}

// daemon starts a daemon and waits until it serves.
func (v *e2eEnv) daemon() *command {
	v.t.Helper()
	d := v.startWithDaemon("daemon")
	v.until("the daemon serves", func() bool {
		c, err := net.Dial("unix", v.socket())
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	return d
}

func (v *e2eEnv) socket() string { return filepath.Join(v.home, "run", "daemon.sock") }

// startWithDaemon starts a command that may use a daemon.
func (v *e2eEnv) startWithDaemon(args ...string) *command {
	v.t.Helper()
	all := v.env
	defer func() { v.env = all }()
	v.env = slices.DeleteFunc(slices.Clone(all), func(e string) bool { return strings.HasPrefix(e, "HOLDFAST_NO_DAEMON=") })
	return v.begin(args...)
}

// post sends a request to the daemon, and returns the run's ID if the answer is a run.
func (v *e2eEnv) post(path, body string) string {
	v.t.Helper()
	var doc struct{ RunID string }
	v.okay(json.Unmarshal(v.ask(http.MethodPost, path, body), &doc))
	return doc.RunID
}

func (v *e2eEnv) ask(method, path, body string) []byte {
	v.t.Helper()
	c := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", v.socket())
		},
	}}
	r, err := http.NewRequestWithContext(v.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	v.okay(err)
	r.Header.Set("Content-Type", "application/json")
	got, err := c.Do(r)
	v.okay(err)
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	if v.okay(err); got.StatusCode >= 300 {
		v.t.Fatalf("%s %s: %s: %s", method, path, got.Status, bytes.TrimSpace(b))
	}
	return b
}

// Targets of links in a home are not deleted, and names that are not valid text break no command.
func TestE2EDeleteLinks(t *testing.T) {
	v := newE2E(t)
	v.must("workspace", "start", "blog")
	outside := filepath.Join(filepath.Dir(v.home), "outside")
	v.okay(os.MkdirAll(filepath.Join(outside, "sub"), 0o755))
	v.okay(os.WriteFile(filepath.Join(outside, "sub", "file"), []byte("mine"), 0o600))
	in := filepath.Join(v.home, "workspaces/blog/home")
	for i, to := range []string{outside, outside + "/sub", outside + "/sub/file", "/", "..", "../../../.."} {
		v.okay(os.Symlink(to, filepath.Join(in, fmt.Sprint("link", i))))
	}
	v.okay(syscall.Mkfifo(filepath.Join(in, "fifo\nof\x1b[2Jlines"), 0o600))
	if out := v.must("workspace", "du", "blog", "--json"); !strings.Contains(out, `"slug":"blog"`) {
		t.Errorf("du prints %s", out)
	}
	v.must("workspace", "delete", "blog", "--yes")
	v.nothingLeft()
	if b, err := os.ReadFile(filepath.Join(outside, "sub", "file")); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
}
