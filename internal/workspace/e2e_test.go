//go:build unix

package workspace_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testprogram"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

// e2eEnv is a user with a home, a project and the real program: commands in separate processes, a real engine,
// and a scripted model server.
//
//	prompt "say TEXT"     the model answers TEXT
//	       "write NAME"   it writes /work/NAME with the tool Write, and then answers
//	       "wait"         it waits until the test releases it, and then writes and answers
type e2eEnv struct {
	t       *testing.T
	home    string
	project string
	exe     string
	env     []string
	engine  *engine.Engine
	asked   chan struct{} // one value per "wait" request that has arrived
	release chan struct{} // each value releases one "wait" request
}

// newE2E creates a workspace "blog" for the built-in agent, from the scratch image.
func newE2E(t *testing.T, flags ...string) *e2eEnv {
	t.Helper()
	return newE2EOn(t, testimage.Engine(t), os.Getenv("HOLDFAST_TEST_DOCKER"), testimage.Scratch(t), flags...)
}

func newE2EOn(t *testing.T, e *engine.Engine, host, image string, flags ...string) *e2eEnv {
	t.Helper()
	v := &e2eEnv{t: t, exe: testprogram.Linux(t), engine: e, asked: make(chan struct{}, 8), release: make(chan struct{}, 8)}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	v.okay(err)
	v.home, v.project = filepath.Join(dir, "home"), filepath.Join(dir, "project")
	v.okay(os.Mkdir(v.project, 0o755))
	if os.Getuid() == 0 {
		v.okay(os.Chown(v.project, 4711, 4711)) // agents of root run as this user
	}
	model := httptest.NewServer(http.HandlerFunc(v.answer))
	t.Cleanup(model.Close)
	v.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HOLDFAST_HOME=" + v.home, "DOCKER_HOST=" + host, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"),
		"HOLDFAST_MODEL=openai/m", "OPENAI_API_KEY=none", "OPENAI_BASE_URL=" + model.URL + "/v1", "HOLDFAST_NO_DAEMON=1",
	}
	t.Cleanup(func() {
		for _, c := range v.containers() {
			v.okay(v.engine.Remove(context.WithoutCancel(t.Context()), c.ID))
		}
	})
	if image == "" { // as a user builds it
		v.must("workspace", "image", "build")
		image = workspace.DefaultImage
	}
	v.must(append([]string{"workspace", "create", "blog", "--project", v.project, "--image", image, "--memory", "256m"}, flags...)...)
	return v
}

func (v *e2eEnv) okay(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// command is a running holdfast command.
type command struct {
	v        *e2eEnv
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

func (v *e2eEnv) begin(args ...string) *command {
	v.t.Helper()
	c := &command{v: v, cmd: exec.Command(v.exe, args...)}
	c.cmd.Env, c.cmd.Dir = v.env, v.project
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	v.okay(c.cmd.Start())
	v.t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_ = c.cmd.Process.Kill()
			_ = c.cmd.Wait()
		}
	})
	return c
}

// ended waits for the end of a command and returns its exit code, or -1 if a signal ended it.
func (c *command) ended() int {
	c.v.t.Helper()
	if err := c.cmd.Wait(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			c.v.t.Fatal(err)
		}
	}
	return c.cmd.ProcessState.ExitCode()
}

func (c *command) kill(s syscall.Signal) { c.v.okay(c.cmd.Process.Signal(s)) }

// expect waits for the end and checks the exit code and the output.
func (c *command) expect(code int, texts ...string) {
	c.v.t.Helper()
	got := c.ended()
	all := c.out.String() + c.err.String()
	if got != code {
		c.v.t.Errorf("%q: exit code %d, not %d: %s", c.cmd.Args[1:], got, code, all)
	}
	for _, want := range texts {
		if !strings.Contains(all, want) {
			c.v.t.Errorf("%q: no %q in: %s", c.cmd.Args[1:], want, all)
		}
	}
}

// run runs a command to its end.
func (v *e2eEnv) run(args ...string) (out string, code int) {
	v.t.Helper()
	c := v.begin(args...)
	code = c.ended()
	return c.out.String() + c.err.String(), code
}

// must runs a command that has to succeed.
func (v *e2eEnv) must(args ...string) string {
	v.t.Helper()
	out, code := v.run(args...)
	if code != 0 {
		v.t.Fatalf("%q: exit code %d: %s", args, code, out)
	}
	return out
}

// turn runs a turn in the workspace and checks its answer.
func (v *e2eEnv) turn(want string, args ...string) {
	v.t.Helper()
	if out := v.must(append([]string{"run", "--workspace", "blog"}, args...)...); !strings.Contains(out, want) {
		v.t.Errorf("%q: no %q in: %s", args, want, out)
	}
}

// awaitWaitPrompt returns when a "wait" prompt has reached the model.
func (v *e2eEnv) awaitWaitPrompt() {
	v.t.Helper()
	select {
	case <-v.asked:
	case <-time.After(30 * time.Second):
		v.t.Fatal("nothing waits")
	}
}

// until polls until a condition that depends on another process is true.
func (v *e2eEnv) until(what string, is func() bool) {
	v.t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			v.t.Fatalf("never: %s", what)
		}
	}
}

// containerDoc is what the program reports about a workspace's container.
type containerDoc struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	Outdated  bool   `json:"outdated"`
	Processes int    `json:"processes"`
}

func (v *e2eEnv) container() (c containerDoc) {
	v.t.Helper()
	var doc struct {
		Container containerDoc `json:"container"`
	}
	v.okay(json.Unmarshal([]byte(v.must("workspace", "show", "blog", "--json")), &doc))
	return doc.Container
}

// containers returns the containers of this home, as the engine reports them.
func (v *e2eEnv) containers() []engine.Container {
	v.t.Helper()
	list, err := v.engine.List(context.WithoutCancel(v.t.Context()), map[string]string{"dev.holdfast.home": v.hash()})
	v.okay(err)
	return list
}

// hash returns the hash of the home that is used in labels and names.
func (v *e2eEnv) hash() string {
	sum := sha256.Sum256([]byte(v.home))
	return hex.EncodeToString(sum[:])
}

// kill kills the container, like a crash.
func (v *e2eEnv) kill() {
	v.t.Helper()
	v.api(http.MethodPost, "/containers/"+v.containers()[0].ID+"/kill")
}

// api calls the engine directly, without the code under test.
func (v *e2eEnv) api(method, path string) []byte {
	v.t.Helper()
	socket := strings.TrimPrefix(v.engine.Host(), "unix://")
	c := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	r, err := http.NewRequestWithContext(v.t.Context(), method, "http://engine"+path, nil)
	v.okay(err)
	got, err := c.Do(r)
	v.okay(err)
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	if v.okay(err); got.StatusCode >= 300 {
		v.t.Fatalf("%s: %s: %s", path, got.Status, b)
	}
	return b
}

// processes returns the command lines in the container, as the engine reports them.
func (v *e2eEnv) processes() (list []string) {
	v.t.Helper()
	all := v.containers()
	if len(all) != 1 {
		v.t.Fatalf("%d containers", len(all))
	}
	var doc struct{ Processes [][]string }
	v.okay(json.Unmarshal(v.api(http.MethodGet, "/containers/"+all[0].ID+"/top?ps_args=-eo%20pid,args"), &doc))
	for _, p := range doc.Processes {
		list = append(list, p[len(p)-1])
	}
	return list
}

// idle waits until only the supervisor runs inside, according to the engine's list of processes.
func (v *e2eEnv) idle() {
	v.t.Helper()
	v.until("nothing is left inside", func() bool {
		return !slices.ContainsFunc(v.processes(), func(cmd string) bool { return !strings.HasSuffix(cmd, "holdfast supervise") })
	})
	if n := v.container().Processes; n != 0 {
		v.t.Errorf("%d processes are counted inside", n)
	}
}

// answer is the model: OpenAI's chat completions, as a stream.
func (v *e2eEnv) answer(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	last := in.Messages[len(in.Messages)-1]
	delta := map[string]any{"role": "assistant"}
	word, rest, _ := strings.Cut(fmt.Sprint(last.Content), " ")
	switch {
	case last.Role == "tool":
		delta["content"] = "wrote it"
	case word == "wait" && !v.holdAnswer(r):
		return // the client is gone
	case word == "wait":
		delta["tool_calls"] = writeCall("waited")
	case word == "write":
		delta["tool_calls"] = writeCall(rest)
	default:
		delta["content"] = rest
	}
	w.Header().Set("Content-Type", "text/event-stream")
	finish := "stop"
	if delta["tool_calls"] != nil {
		finish = "tool_calls"
	}
	b, _ := json.Marshal(map[string]any{
		"id": "c", "object": "chat.completion.chunk", "model": "m", "created": 1,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	})
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", b)
}

func (v *e2eEnv) holdAnswer(r *http.Request) bool {
	v.asked <- struct{}{}
	select {
	case <-v.release:
		return true
	case <-r.Context().Done():
		return false
	}
}

func writeCall(name string) any {
	input, _ := json.Marshal(map[string]string{"file_path": "/work/" + name, "content": "by the agent"})
	return []any{map[string]any{
		"index": 0, "id": "call_" + name, "type": "function", "function": map[string]string{"name": "Write", "arguments": string(input)},
	}}
}

// checkFile checks that a file of the project exists.
func (v *e2eEnv) checkFile(name string) {
	v.t.Helper()
	if b, err := os.ReadFile(filepath.Join(v.project, name)); err != nil || string(b) != "by the agent" {
		v.t.Errorf("%q, %v", b, err)
	}
}
