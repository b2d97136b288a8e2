package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runtime"
	"github.com/holdfast-dev/holdfast/runspec"
)

// remoteEnv is a folder, a daemon in this process, and a model server that keeps its requests.
type remoteEnv struct {
	t    *testing.T
	dir  string
	env  []string
	d    *client.Client
	stop func()

	mu       sync.Mutex
	requests []string
}

func newRemoteEnv(t *testing.T, answer ...string) *remoteEnv {
	t.Helper()
	h := &remoteEnv{t: t, dir: shortDir(t)}
	if len(answer) == 0 {
		answer = []string{`{"role": "assistant", "content": "done"}`}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		_, _ = fmt.Fprintf(&b, "%s\n", r.Header.Get("Authorization"))
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		b.Write(body)
		h.mu.Lock()
		n := min(len(h.requests), len(answer)-1)
		h.requests = append(h.requests, b.String())
		h.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		reason := "stop"
		if strings.Contains(answer[n], "tool_calls") {
			reason = "tool_calls"
		}
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", answer[n])
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n", reason)
	}))
	t.Cleanup(server.Close)
	h.env = environ(h.dir, "OPENAI_API_KEY=key-of-ann", "OPENAI_BASE_URL="+server.URL+"/v1", "HOLDFAST_MODEL=openai/m")
	write(t, h.dir, "play.yaml", "price: {input: 3, output: 15}\nsteps: [{text: done}, {text: done}, {text: done}]")
	h.d, h.stop = serve(t, h.dir, h.env)
	return h
}

// run runs the command line, and checks that the run happened in the daemon.
func (h *remoteEnv) run(args ...string) (out, errs string, code int) {
	h.t.Helper()
	p, o, e := newProgram(h.dir, h.env, append([]string{"run", "--session-id", "s"}, args...)...)
	code = Run(h.t.Context(), p)
	if _, err := h.d.Run(h.t.Context(), "s"); err != nil {
		h.t.Errorf("it did not run in the daemon: %v\n%s%s", err, o, e)
	}
	return o.String(), e.String(), code
}

// sent returns everything that the model server received.
func (h *remoteEnv) sent() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.requests, "\n")
}

// recorded returns the spec of the newest start of run s.
func (h *remoteEnv) recorded() *runspec.Spec {
	h.t.Helper()
	var spec *runspec.Spec
	for e, err := range h.d.Events(h.t.Context(), "s", 0) {
		if err != nil {
			h.t.Fatal(err)
		}
		if e.CaughtUp {
			break
		}
		if e.Record != nil && e.Record.Kind == record.KindRunEvent {
			var r wire.RunEvent
			if err := json.Unmarshal(e.Record.Payload, &r); err != nil {
				h.t.Fatal(err)
			}
			if r.Event == wire.RunStarted {
				spec = r.Spec
			}
		}
	}
	return spec
}

// calls returns an answer of the model that calls Bash.
func calls(command string) string {
	args, _ := json.Marshal(map[string]string{"command": command})
	text, _ := json.Marshal(string(args))
	return `{"role": "assistant", "tool_calls": [{"index": 0, "id": "call-1", "type": "function", "function": {"name": "Bash", "arguments": ` + string(text) + `}}]}`
}

const answersDone = `{"role": "assistant", "content": "done"}`

// runtime returns the daemon's runtime as it is after a restart, without anything from the client.
func (h *remoteEnv) runtime(env ...string) *runtime.Runtime {
	h.t.Helper()
	p, _, _ := newProgram(h.dir, append(h.env, env...))
	rt, err := runtime.Open(h.t.Context(), &runtime.Config{Env: p.Environment()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = rt.Close() })
	return rt
}

// made returns the agent that a daemon builds from a record.
func (h *remoteEnv) made(spec *runspec.Spec) *runs.AgentParts {
	h.t.Helper()
	made, err := h.runtime().Make(h.t.Context(), runs.AgentRequest{
		Run: "s", Session: "s", Spec: *spec, Agent: strategy.Agent{Name: "agent", Type: strategy.LLM}, Actor: runs.Actor{Name: "ann", Via: "cli"},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(made.Close)
	return made
}

// fieldCheck shows that a field of the spec takes effect through the daemon.
type fieldCheck struct {
	alone   func(h *remoteEnv)                             // a complete check
	before  func(h *remoteEnv)                             // prepares what the run needs
	args    []string                                       // of run, without the prompt
	body    func(h *remoteEnv) *api.NewRun                 // or the request of an HTTP client
	answers []string                                       // of the model
	sent    string                                         // what the model then receives
	built   func(h *remoteEnv, made *runs.AgentParts) bool // of the agent that the record builds
	check   func(h *remoteEnv, out, errs string, code int)
	gone    bool // the record does not contain the field: it is recorded elsewhere, or resolved
	refused bool // there is no run
}

func (p *fieldCheck) try(t *testing.T, field []int) {
	h := newRemoteEnv(t, p.answers...)
	if p.alone != nil {
		p.alone(h)
		return
	}
	if p.before != nil {
		p.before(h)
	}
	var out, errs string
	var code int
	switch {
	case p.body != nil:
		n := p.body(h)
		info, err := h.d.CreateRun(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { r, err := h.d.Run(t.Context(), info.RunID); return err == nil && r.Status.Ended() })
		out = info.RunID
	case p.refused:
		pr, o, e := newProgram(h.dir, h.env, append(append([]string{"run", "--session-id", "s"}, p.args...), "go")...)
		code = Run(t.Context(), pr)
		out, errs = o.String(), e.String()
	default:
		out, errs, code = h.run(append(p.args, "go")...)
	}
	if p.check != nil {
		p.check(h, out, errs, code)
	} else if code != 0 {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if p.sent != "" && !strings.Contains(h.sent(), strings.ReplaceAll(p.sent, "DIR", h.dir)) {
		t.Errorf("the model was not sent %q: %.3000s", p.sent, h.sent())
	}
	if p.gone || p.refused {
		return
	}
	spec := h.recorded()
	if spec == nil || reflect.ValueOf(spec).Elem().FieldByIndex(field).IsZero() {
		t.Fatalf("it is not recorded: %+v", spec)
	}
	if p.built != nil && !p.built(h, h.made(spec)) {
		t.Error("a daemon that restarts builds an agent without it")
	}
}

// TestSpecFieldsThroughDaemon fails for a field that has no check.
func TestSpecFieldsThroughDaemon(t *testing.T) {
	var each func(typ reflect.Type, index []int, at string)
	each = func(typ reflect.Type, index []int, at string) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, here := strings.TrimPrefix(at+"."+f.Name, "."), append(slices.Clone(index), i)
			if f.Type.Kind() == reflect.Struct {
				each(f.Type, here, name)
				continue
			}
			p, ok := fieldChecks[name]
			if !ok {
				t.Errorf("%s has no proof that it takes effect through a daemon", name)
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.try(t, here)
			})
		}
	}
	each(reflect.TypeFor[runspec.Spec](), nil, "")
}

// A restarted daemon resumes an interrupted run as its record describes it.
func TestRestartedDaemonResumesWithSpec(t *testing.T) {
	h := newRemoteEnv(t)
	write(t, h.dir, "play.yaml", hangingPlay)
	p, _, errs := newProgram(h.dir, h.env, "run", "--session-id", "s", "--model", "scripted/play.yaml", "--append-system-prompt", "Be kind.",
		"--max-turns", "7", "--disallowed-tools", "Write", "--no-hooks", "--ask-timeout", "7m", "--init", "--settings", `{"permissions": {"deny": ["Edit"]}}`, "go")
	code := make(chan int, 1)
	go func() { code <- Run(t.Context(), p) }()
	waitFor(t, func() bool { r, err := h.d.Run(t.Context(), "s"); return err == nil && r.Status == api.StatusRunning })
	began := h.recorded()
	h.stop()
	if got := <-code; got == 0 {
		t.Errorf("exit code %d: %s", got, errs)
	}
	h.d, h.stop = serve(t, h.dir, append(h.env, "HOLDFAST_MODEL="))
	waitFor(t, func() bool {
		r, err := h.d.Run(t.Context(), "s")
		return err == nil && !r.Status.Ended() || err == nil && r.Status == api.StatusInterrupted
	})
	if r, err := h.d.Run(t.Context(), "s"); err != nil || r.Status == api.StatusInterrupted { // the daemon may have resumed it already
		if _, err := h.d.ContinueRun(t.Context(), "s", ""); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool { return h.recorded() != nil && h.recorded().Hooks.Setup == "" })
	want := began.ForResume("")
	if got := h.recorded(); !reflect.DeepEqual(*got, want) || want.Limits.MaxTurns != 7 {
		t.Errorf("it went on with\n%+v\nnot with\n%+v", *got, want)
	}
	_, _ = h.d.StopRun(t.Context(), "s") // fails if the run has ended already
}

// Secrets that would be recorded are rejected, with a hint.
func TestSecretsAreNotRecorded(t *testing.T) {
	h := newRemoteEnv(t)
	p, _, errs := newProgram(h.dir, h.env, "run", "--session-id", "s", "--mcp-config",
		`{"mcpServers": {"hub": {"type": "http", "url": "http://127.0.0.1:9", "headers": {"Authorization": "Bearer gh`+"p_"+`0123456789abcdefghijABCDEFGHIJ012345"}}}}`, "go")
	if code := Run(t.Context(), p); code == 0 || !strings.Contains(errs.String(), "mcp.configs contains a secret") || !strings.Contains(errs.String(), "${API_KEY}") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
