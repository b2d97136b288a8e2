//go:build linux

package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
	"github.com/holdfast-dev/holdfast/transcript"
)

// daemonEnv is a daemon with its own home, whose log and answers a test checks.
type daemonEnv struct {
	t         *testing.T
	bin, home string
	store     string // its URL, for this daemon
	args      []string
	*daemonProcess
	*api
}

// newDaemonEnv begins a daemon and returns when it is ready. store "" is the home's own.
func newDaemonEnv(t *testing.T, store string, args ...string) *daemonEnv {
	t.Helper()
	d := &daemonEnv{t: t, bin: testprogram.Path(t), home: shortHome(t), store: store, args: args}
	d.begin()
	return d
}

// shortHome is a home whose path is short: the path of a socket has few bytes.
func shortHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) }) // what a killed daemon has left may still change
	return home
}

// begin starts the daemon of a home whose files are there.
func (d *daemonEnv) begin() {
	d.t.Helper()
	settings := filepath.Join(d.home, "settings.json") // what is under test is who waits; commands run as they are
	if err := os.WriteFile(settings, []byte(`{"sandbox": {"enabled": false}}`), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.api = newAPI(d.home)
	d.start(d.args...)
}

func (d *daemonEnv) start(args ...string) {
	d.t.Helper()
	var env []string
	if d.store != "" {
		env = append(env, "HOLDFAST_STORE="+d.store)
	}
	p := startDaemon(d.t, d.bin, d.home, env, args...)
	d.daemonProcess = p
	d.t.Cleanup(p.kill)
	d.t.Cleanup(func() {
		if d.t.Failed() {
			d.t.Logf("the daemon of %s said\n%s", d.home, p.output)
		}
	})
	if err := p.ready(d.t.Context(), d.api); err != nil {
		d.t.Fatal(err)
	}
}

// get decodes an answer, which must be a success. What it looks for may be refused for now:
// a call of the store that began while it was away has its time.
func (d *daemonEnv) get(path string, out any) {
	d.t.Helper()
	within(d.t, 30*time.Second, "answer to "+path, func() bool {
		status, err := d.call(d.t.Context(), http.MethodGet, path, nil, out)
		if err != nil && status != http.StatusServiceUnavailable {
			d.t.Fatal(err)
		}
		return err == nil
	})
}

// post makes a request that must succeed.
func (d *daemonEnv) post(path string, in, out any) {
	d.t.Helper()
	if _, err := d.call(d.t.Context(), http.MethodPost, path, in, out); err != nil {
		d.t.Fatal(err)
	}
}

// refused checks that a request is refused for now: nothing was done, and the response says
// when to retry.
func (d *daemonEnv) refused(status int, code, path string, in any) {
	d.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		d.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := d.http.Do(req)
	if err != nil {
		d.t.Errorf("%s: %v", path, err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	b, _ := io.ReadAll(res.Body)
	if res.StatusCode != status || res.Header.Get("Retry-After") == "" || !strings.Contains(string(b), `"code":"`+code+`"`) {
		d.t.Errorf("%s: %d, Retry-After %q, %s; want %d %s", path, res.StatusCode, res.Header.Get("Retry-After"), b, status, code)
	}
}

// awaitNotReady waits until /readyz reports the fault of the store.
func (d *daemonEnv) awaitNotReady(store string) {
	d.t.Helper()
	within(d.t, 10*time.Second, "/readyz with "+store, func() bool {
		var doc struct{ Checks map[string]string }
		asked := time.Now()
		status, err := d.call(d.t.Context(), http.MethodGet, "/readyz", nil, nil)
		if took := time.Since(asked); took > 4*time.Second { // 2 s, and what a busy machine takes
			d.t.Errorf("/readyz took %v", took)
		}
		if status != http.StatusServiceUnavailable {
			return false
		}
		_, text, _ := strings.Cut(err.Error(), "503 ")
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			d.t.Fatal(err)
		}
		return doc.Checks["store"] == store
	})
}

// awaitReady waits until /readyz says so.
func (d *daemonEnv) awaitReady(limit time.Duration) {
	d.t.Helper()
	within(d.t, limit, "daemon that is ready", func() bool {
		status, _ := d.call(d.t.Context(), http.MethodGet, "/readyz", nil, nil)
		return status == http.StatusOK
	})
}

// terminate ends a daemon as a service manager does.
func (d *daemonEnv) terminate() {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	select {
	case <-d.over:
	case <-time.After(time.Minute):
		_ = d.cmd.Process.Signal(syscall.SIGQUIT) // it says where it stands
		<-d.over
		d.t.Fatal("the daemon does not end")
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		d.t.Errorf("the daemon ended with %d", code)
	}
}

// faultRun is a run during a fault of the store.
type faultRun struct {
	d       *daemonEnv
	id, dir string
	clients []*client
	leave   context.CancelFunc
	wg      sync.WaitGroup
}

// run begins a run that plays a play, in a folder of its own. agents that do so side by side
// have names.
func (d *daemonEnv) run(name, play, mode string, agents ...string) *faultRun {
	d.t.Helper()
	r := &faultRun{d: d, id: fmt.Sprintf("%s-%d", name, time.Now().UnixNano()), dir: d.t.TempDir()}
	file := filepath.Join(r.dir, "play.yaml")
	if err := os.WriteFile(file, []byte(play), 0o600); err != nil {
		d.t.Fatal(err)
	}
	in := map[string]any{"session_id": r.id, "cwd": r.dir, "input": "go", "mode": mode}
	if len(agents) == 0 {
		in["model"] = "scripted/" + file
	} else {
		each := map[string]any{}
		for _, a := range agents {
			each[a] = map[string]string{"model": "scripted/" + file}
		}
		in["strategy"] = map[string]any{"name": name, "version": "1", "agents": each, "flow": map[string]any{"type": "broadcast", "steps": agents}}
	}
	d.post("/v1/runs", in, nil)
	return r
}

// follow has a client over SSE and one over a WebSocket follow the run, at any daemon.
func (r *faultRun) follow(d *daemonEnv) {
	ctx, cancel := context.WithCancel(context.Background())
	before := r.leave
	r.leave = func() {
		cancel()
		if before != nil {
			before()
		}
	}
	for name, connect := range map[string]func(context.Context, *client) error{"sse": overSSE, "ws": overSocket} {
		c := newClient(d.api, r.id, name)
		r.clients = append(r.clients, c)
		r.wg.Go(func() { c.follow(ctx, connect) })
	}
	r.d.t.Cleanup(func() { r.leave(); r.wg.Wait() })
}

// checkReceived checks that each client receives all records, once and in order. A stream that is
// open but sends nothing more would fail.
func (r *faultRun) checkReceived() {
	t := r.d.t
	t.Helper()
	for _, c := range r.clients {
		connect := overSSE
		if c.name == "ws" {
			connect = overSocket
		}
		var all *clientEvents
		within(t, 30*time.Second, "replay of "+r.id, func() (ok bool) {
			var err error
			all, err = replay(t.Context(), c.api, r.id, c.name, connect)
			return err == nil
		})
		for deadline := time.Now().Add(20 * time.Second); c.lastHeard() < all.last && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
		for _, f := range c.compare(all, true) {
			t.Errorf("%s: %s", r.id, f)
		}
	}
}

func (r *faultRun) info() (info runInfo) {
	r.d.t.Helper()
	r.d.get("/v1/runs/"+r.id, &info)
	return info
}

// open are the open questions of the run.
func (r *faultRun) open() (ids []string) {
	var list struct {
		Items []struct {
			ID    string
			RunID string `json:"run_id"`
		}
	}
	if _, err := r.d.call(r.d.t.Context(), http.MethodGet, "/v1/approvals?limit=500", nil, &list); err != nil {
		return nil
	}
	for _, q := range list.Items {
		if q.RunID == r.id {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

func (r *faultRun) asked(n int) []string {
	r.d.t.Helper()
	var ids []string
	within(r.d.t, 30*time.Second, fmt.Sprint(n, " questions"), func() bool {
		ids = r.open()
		return len(ids) == n
	})
	return ids
}

// answer allows an approval request at any daemon, and retries while it is refused for now.
func (r *faultRun) answer(d *daemonEnv, question string) {
	d.t.Helper()
	within(d.t, time.Minute, "answer that is taken", func() bool {
		status, err := d.call(d.t.Context(), http.MethodPost, decisionOf(question), map[string]string{"decision": "allow"}, nil)
		if err != nil && status != http.StatusServiceUnavailable {
			d.t.Fatal(err)
		}
		return err == nil
	})
}

func decisionOf(question string) string { return "/v1/approvals/" + question + "/decision" }

// awaitEnd waits for the end of the run. An interrupted run has a reason, and is continued until
// it ends.
func (r *faultRun) awaitEnd(limit time.Duration) (info runInfo, interrupted string) {
	t := r.d.t
	t.Helper()
	within(t, limit, "end of "+r.id, func() bool {
		status, err := r.d.call(t.Context(), http.MethodGet, "/v1/runs/"+r.id, nil, &info)
		if err != nil {
			if status != http.StatusServiceUnavailable {
				t.Fatal(err)
			}
			return false
		}
		if info.Status == "interrupted" {
			if interrupted == "" && info.Error != nil {
				interrupted = info.Error.Message
			}
			_, _ = r.d.call(t.Context(), http.MethodPost, "/v1/runs/"+r.id+"/continue", map[string]string{}, nil)
		}
		return info.ended()
	})
	return info, interrupted
}

// appendLineCommand is a command that leaves a line in the run's folder.
func appendLineCommand(line string) string { return "echo " + line + " >> ran" }

// ran are the lines of what ran.
func (r *faultRun) ran() string {
	b, _ := os.ReadFile(filepath.Join(r.dir, "ran"))
	return strings.ReplaceAll(strings.TrimSpace(string(b)), "\n", " ")
}

// awaitLines waits until so many lines are there.
func (r *faultRun) awaitLines(lines int) {
	r.d.t.Helper()
	within(r.d.t, 30*time.Second, fmt.Sprint(lines, " commands of ", r.id), func() bool { return len(strings.Fields(r.ran())) >= lines })
}

// loggedEvent is a record of the run as HTTP serves it.
type loggedEvent struct {
	Kind, Agent string
	Payload     json.RawMessage
}

// log calls do with each record of the run.
func (r *faultRun) log(do func(loggedEvent)) {
	r.d.t.Helper()
	for after := int64(0); ; {
		var page struct {
			Items []loggedEvent
			Next  int64 `json:"next_after"`
			Head  int64
		}
		r.d.get(fmt.Sprintf("/v1/sessions/%s/events?limit=500&after=%d", r.id, after), &page)
		for _, e := range page.Items {
			do(e)
		}
		if after = page.Next; after == 0 || after >= page.Head || len(page.Items) == 0 {
			return
		}
	}
}

// unknown returns the commands whose start is recorded but not their outcome: the model is
// told so, and they are not run again.
func (r *faultRun) unknown() (list []string) {
	r.d.t.Helper()
	commands := map[string]string{}
	r.log(func(e loggedEvent) {
		if e.Kind != "item" {
			return
		}
		var payload struct{ Item transcript.Item }
		if err := json.Unmarshal(e.Payload, &payload); err != nil {
			r.d.t.Fatal(err)
		}
		for _, use := range payload.Item.ToolUses() {
			commands[use.ID] = string(use.Input)
		}
		for _, part := range payload.Item.Parts {
			result, ok := part.(transcript.ToolResult)
			if !ok || len(result.Content) != 1 {
				continue
			}
			if text, ok := result.Content[0].(transcript.Text); ok && text.Text == history.OutcomeUnknown {
				list = append(list, commands[result.UseID])
			}
		}
	})
	return list
}

// checkLog checks the records: one answer to each approval request, from a person; one start
// of each command.
func (r *faultRun) checkLog() {
	t := r.d.t
	t.Helper()
	asked, started := map[string]int{}, map[string]int{}
	r.log(func(e loggedEvent) {
		var p struct {
			approval.Answer
			UseID string `json:"use_id"`
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return
		}
		switch e.Kind {
		case "approval.resolved":
			asked[p.RequestID]++
			if p.Actor == "" || p.Actor == "nobody" || p.Actor == "timeout" || !p.Decision.Allows() {
				t.Errorf("%s: question %s is %s by %q: %s", r.id, p.RequestID, p.Decision, p.Actor, p.Message)
			}
		case "tool.started":
			started[e.Agent+" "+p.UseID]++
		}
	})
	for what, n := range asked {
		if n != 1 {
			t.Errorf("%s: %d answers to %s", r.id, n, what)
		}
	}
	for what, n := range started {
		if n != 1 {
			t.Errorf("%s: %s started %d times", r.id, what, n)
		}
	}
}

// verify checks every log of a store with the program itself.
func (d *daemonEnv) verify(store string) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), d.bin, "sessions", "verify", "--all", "--store", store)
	cmd.Dir, cmd.Env = d.home, environ(d.home)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Errorf("%v: %s", err, out)
	}
}

// readiness samples /readyz until it is stopped, and returns the longest response time and
// whether any response said ready.
func (d *daemonEnv) readiness() (stop func() (longest time.Duration, ready int)) {
	ctx, cancel := context.WithCancel(d.t.Context())
	done := make(chan struct{})
	var longest time.Duration
	ready := 0
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			asked := time.Now()
			status, err := d.call(ctx, http.MethodGet, "/readyz", nil, nil)
			if took := time.Since(asked); !errors.Is(err, context.Canceled) && took > longest {
				longest = took
			}
			if status == http.StatusOK {
				ready++
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return func() (time.Duration, int) {
		cancel()
		<-done
		return longest, ready
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
