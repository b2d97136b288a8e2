package console_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/freeport"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

const play = `name: play
steps:
  - text: I look around, then publish.
    tool_uses:
      - {id: look, tool: Glob, input: {pattern: "**/*"}}
  - text: Now I publish it.
    tool_uses:
      - {id: push, tool: Bash, input: {command: git push origin main, description: Publish}}
  - text: All done.
  - text: All done again.
  - text: And again.
`

// program is holdfast daemon as a process with a separate home.
type program struct {
	t       *testing.T
	bin     string
	home    string
	folder  string
	address string
	cmd     *exec.Cmd
}

// TestDaemon tests the page with a real daemon.
func TestDaemon(t *testing.T) {
	needBrowser(t)
	if runtime.GOOS != "linux" {
		t.Skip("the scripts are made for Linux")
	}
	dir := t.TempDir()
	home, err := os.MkdirTemp("", "hf") // short, because a socket is in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	p := &program{t: t, bin: testprogram.Path(t), home: home, folder: filepath.Join(dir, "src"), address: "127.0.0.1:" + strconv.Itoa(freeport.Pick(t))}
	if err := os.MkdirAll(p.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{filepath.Join(dir, "play.yaml"): play, filepath.Join(p.folder, "main.c"): "int main;\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.start()
	t.Cleanup(p.kill)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /test/{what}", func(w http.ResponseWriter, r *http.Request) {
		body := doc{}
		_ = json.NewDecoder(r.Body).Decode(&body)
		switch r.PathValue("what") {
		case "link":
			body["url"] = strings.TrimSpace(p.run("daemon", "open"))
		case "kill":
			p.kill()
		case "start":
			p.start()
		case "rules":
			var in struct {
				Permissions struct{ Allow []string }
			}
			b, err := os.ReadFile(filepath.Join(p.folder, ".holdfast", "settings.local.json"))
			if err == nil {
				err = json.Unmarshal(b, &in)
			}
			if err != nil {
				t.Error(err)
			}
			body["rules"] = in.Permissions.Allow
		case "run":
			body = p.begin(body["id"].(string), "scripted/"+filepath.Join(dir, "play.yaml"))
		}
		_ = json.NewEncoder(w).Encode(body)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	browse(t, "daemon.mjs", "http://"+p.address, "HOLDFAST_CONTROL="+s.URL)
}

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), p.bin, args...)
	cmd.Env = append(os.Environ(), "HOLDFAST_HOME="+p.home)
	cmd.Dir = p.folder
	return cmd
}

func (p *program) run(args ...string) string {
	out, err := p.command(args...).Output()
	if err != nil {
		p.t.Errorf("holdfast %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// start starts the daemon and returns when it serves.
func (p *program) start() {
	p.cmd = p.command("daemon", "run", "--listen", p.address)
	log, err := p.cmd.StderrPipe()
	if err != nil {
		p.t.Error(err)
		return
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Error(err)
		return
	}
	serving := make(chan bool, 1)
	go func() {
		for s := bufio.NewScanner(log); s.Scan(); {
			if strings.Contains(s.Text(), "serving") {
				serving <- true
			}
		}
		close(serving)
	}()
	select {
	case ok := <-serving:
		if !ok {
			p.t.Error("the daemon ended at its start")
		}
	case <-time.After(30 * time.Second):
		p.t.Error("the daemon does not serve after 30 s")
	}
}

// kill kills the daemon with SIGKILL.
func (p *program) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// begin starts a run over the unix socket.
func (p *program) begin(id, model string) doc {
	client := &http.Client{Transport: &http.Transport{DialContext: p.dial}}
	defer client.CloseIdleConnections()
	body, err := json.Marshal(doc{"session_id": id, "model": model, "cwd": p.folder, "mode": "default", "input": "publish it"})
	if err != nil {
		p.t.Error(err)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://holdfast/v1/runs", bytes.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return nil
	}
	req.Header.Set("Content-Type", "application/json")
	r, err := client.Do(req)
	if err != nil {
		p.t.Error(err)
		return nil
	}
	defer func() { _ = r.Body.Close() }()
	out := doc{}
	if err := json.NewDecoder(r.Body).Decode(&out); err != nil || r.StatusCode >= 300 {
		p.t.Errorf("POST /v1/runs: %s %v %v", r.Status, out, err)
	}
	return out
}

func (p *program) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", filepath.Join(p.home, "run", "daemon.sock"))
}
