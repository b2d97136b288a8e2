//go:build linux

package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// daemonProcess is a daemon on a home, until it is killed.
type daemonProcess struct {
	cmd    *exec.Cmd
	output *lockedBuffer
	over   chan struct{} // closed when the process has ended
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startDaemon starts a daemon and does not wait until it serves.
func startDaemon(t *testing.T, bin, home string, env []string, args ...string) *daemonProcess {
	t.Helper()
	d := &daemonProcess{cmd: exec.Command(bin, append([]string{"daemon"}, args...)...), output: &lockedBuffer{}, over: make(chan struct{})}
	d.cmd.Dir = home
	d.cmd.Env = append(environ(home), env...)
	d.cmd.Stdout, d.cmd.Stderr = d.output, d.output
	d.cmd.WaitDelay = time.Second // a command of a tool may hold the pipe
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.over)
		_ = d.cmd.Wait()
	}()
	return d
}

func environ(home string) []string {
	return []string{"HOLDFAST_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "GOTRACEBACK=all"}
}

// kill kills the daemon with SIGKILL and waits until it is gone.
func (d *daemonProcess) kill() {
	_ = d.cmd.Process.Kill() // it may be gone already
	<-d.over
}

// api calls the daemon that serves a home.
type api struct{ http *http.Client }

func newAPI(home string) *api {
	socket := filepath.Join(home, "run", "daemon.sock")
	return &api{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true, // a kill takes connections with it
	}}}
}

// call makes a request and decodes a JSON answer into out, which may be nil.
func (a *api) call(ctx context.Context, method, path string, in, out any) (status int, err error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, body)
	if err != nil {
		return 0, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := a.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return 0, err
	case res.StatusCode >= 400:
		return res.StatusCode, fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, b)
	case out != nil:
		err = json.Unmarshal(b, out)
	}
	return res.StatusCode, err
}

// ready waits until the daemon serves.
func (d *daemonProcess) ready(ctx context.Context, a *api) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		status, err := a.call(ctx, http.MethodGet, "/readyz", nil, nil)
		if err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-d.over:
			return fmt.Errorf("the daemon ended: %s", d.output)
		case <-ctx.Done():
			return fmt.Errorf("the daemon does not serve: %w; it said %s", err, d.output)
		case <-time.After(2 * time.Millisecond):
		}
	}
}
