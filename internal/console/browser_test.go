package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// needBrowser skips a test if the browser, node, or the packages that drive the browser are missing. The
// others run in parallel, because they wait most of the time.
func needBrowser(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes its time; run without -short")
	}
	for _, name := range []string{"HOLDFAST_WEBTOOLS", "HOLDFAST_CHROMIUM"} {
		if os.Getenv(name) == "" {
			testneed.Need(t, "%s is not set: eval \"$(scripts/services env browser webtools)\" makes this run", name)
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		testneed.Need(t, "no node on the PATH: apt-get install nodejs makes this run")
	}
	t.Parallel()
}

// chromium is the browser of all tests of this process; each script uses separate contexts.
var chromium browser

func TestMain(m *testing.M) {
	code := m.Run()
	chromium.stop()
	os.Exit(code)
}

type browser struct {
	once    sync.Once
	cmd     *exec.Cmd
	stdin   io.Closer // closing it ends the browser
	address string
	err     error
}

// start starts the browser once and returns its address for scripts.
func (b *browser) start() (string, error) {
	b.once.Do(func() {
		cmd := exec.CommandContext(context.Background(), "node", "testdata/browser/serve.mjs")
		cmd.Stderr = os.Stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			b.err = err
			return
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			b.err = err
			return
		}
		if b.err = cmd.Start(); b.err != nil {
			return
		}
		b.cmd, b.stdin = cmd, stdin
		line, err := bufio.NewReader(stdout).ReadString('\n')
		b.address, b.err = strings.TrimSpace(line), err
	})
	return b.address, b.err
}

func (b *browser) stop() {
	if b.cmd != nil {
		_ = b.stdin.Close()
		_ = b.cmd.Wait()
	}
}

// browse runs a script of testdata/browser against a server.
func browse(t *testing.T, script, url string, env ...string) {
	t.Helper()
	address, err := chromium.start()
	if err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/browser/"+script, url)
	cmd.Env = append(append(os.Environ(), "HOLDFAST_BROWSER="+address), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
		return
	}
	t.Logf("%s", out)
}

// serve serves the fake daemon, and the controls for scripts under /test/.
func serve(t *testing.T, f *fake) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", f)
	mux.HandleFunc("POST /test/{what}", func(w http.ResponseWriter, r *http.Request) {
		body := doc{}
		_ = json.NewDecoder(r.Body).Decode(&body)
		var out any = doc{}
		f.update(func() { out = f.control(r.PathValue("what"), body) })
		_ = json.NewEncoder(w).Encode(out)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// control does what a script cannot do through the page.
func (f *fake) control(what string, body doc) any {
	switch what {
	case "ask":
		f.ask(body)
	case "answer": // another client answers
		f.answer(f.request(body["id"].(string)), doc{"decision": body["decision"], "by": "bo", "via": "cli", "message": body["message"]})
	case "expire":
		q := f.request(body["id"].(string))
		q["expires_at"] = time.Now().UTC().Add(40 * time.Second)
		f.wake()
	case "append":
		f.append(body["session"].(string), body["kind"].(string), body["payload"])
	case "input":
		f.runs["build"]["inputs"] = []doc{{"inputRequestId": "i1", "agentName": "writer", "prompt": "Which month?", "askedAt": time.Now().UTC()}}
		f.append("build", "run.event", doc{"event": "input_asked", "agent": "writer", "text": "Which month?"})
	case "scopes":
		f.scopes = strings.Fields(body["scopes"].(string))
	case "built":
		close(f.workspaces.built)
	case "away": // the store is unavailable: answers are rejected temporarily
		f.decisionStatus, _ = body["status"].(float64)
	case "down":
		f.down = body["down"] == true
		f.wake()
	case "calls":
		calls := f.calls
		f.calls = nil
		return calls
	}
	return doc{}
}

func TestScreens(t *testing.T) {
	needBrowser(t)
	f := newFake(t)
	f.grants["build"] = []doc{{"id": "g1", "name": "session-allow-write", "effect": "allow", "tool": "Edit", "scope": "Edit(//src/calendar/src/lib/**)", "by": "bo", "at": time.Now().Add(-time.Minute).UTC()}}
	f.fill()
	browse(t, "screens.mjs", serve(t, f))
}

// fill adds sessions for the list, and approval requests of every kind.
func (f *fake) fill() {
	for i, s := range []doc{
		{"title": "Move the calendar to the new API", "run": "completed", "cwd": "/home/ann/src/calendar-service/backend", "model": "claude-sonnet-4-6", "tag": "release"},
		{"title": "", "first_prompt": "review this change", "run": "failed", "cwd": "/src/web", "model": "gpt-5"},
		{"title": "Nightly dependency update", "run": "interrupted", "cwd": "/src/infra", "model": "claude-haiku-4-5", "held_by": doc{"host": "worker-3", "pid": 811}},
		{"title": "Fork of: find the leak", "run": "running", "cwd": "/src/daemon", "model": "claude-sonnet-4-6", "parent": "build", "parent_seq": 12},
	} {
		s["updated_at"] = time.Now().Add(-time.Duration(i*i*53+2) * time.Minute).UTC()
		f.add([]string{"cal-api", "rev-17", "deps", "leak"}[i], s, nil)
	}
	f.ask(doc{"id": "q-long", "session_id": "cal-api", "use_id": "u1", "tool": "Bash", "requests": []doc{{"tool": "Bash", "operation": "command.execute", "resource": longCommand(), "cwd": "/src/calendar", "input": doc{"command": longCommand(), "description": "Move the data"}}}, "expires_at": time.Now().Add(9 * time.Minute).UTC()})
	f.ask(doc{"id": "q-write", "session_id": "rev-17", "use_id": "u2", "tool": "Write", "agent": "writer", "requests": []doc{{
		"tool": "Write", "operation": "fs.write", "resource": "/src/web/robots.txt", "base": "absent", "input": doc{"file_path": "robots.txt", "content": "User-agent: *\nDisallow: /drafts\n"},
	}}})
}

func longCommand() string {
	var b strings.Builder
	b.WriteString("set -eu\n")
	for i := range 40 {
		b.WriteString("pg_dump --table=events_" + string(rune('a'+i%26)) + " old | psql new   # part " + string(rune('a'+i%26)) + "\n")
	}
	return b.String() + "dropdb old"
}
