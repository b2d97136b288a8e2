package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/tool"
)

// runsEnv is the inside of a daemon: a store, its hub and its runs. It can be restarted with the
// same store, as after a kill of the daemon.
type runsEnv struct {
	t         testing.TB
	store     session.Store
	cwd       string            // of runs without a folder
	plays     map[string]string // by agent: a script of the scripted model
	subagents bool              // agents can call sub-agents
	tools     []tool.Tool       // more tools of the agents, which can run in the background
	resume    bool
	limit     int
	mask      *secret.Masker                           // for records of runs; nil masks nothing
	during    func(command string)                     // called when the tool runs
	making    func(context.Context, runs.AgentRequest) // called before an agent is created
	sessions  *session.Sessions
	hub       *feed.Hub
	runs      *runs.Runs
	stop      func()

	mu  sync.Mutex
	ran []string // commands that ran, over all restarts
}

var ann = runs.Actor{Name: "ann", Via: "test"}

func begin(t testing.TB, plays map[string]string) *runsEnv {
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "sessions.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &runsEnv{t: t, store: store, cwd: t.TempDir(), plays: plays}
	w.open()
	t.Cleanup(func() {
		w.stop()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *runsEnv) masker(context.Context, string, []string) (*secret.Masker, error) {
	return w.mask, nil
}

func (w *runsEnv) open() {
	w.t.Helper()
	w.hub = feed.New(nil)
	w.sessions = session.New(w.store, &session.Options{AppendObserver: w.hub.WrapObserver(nil)})
	w.hub.Serve(w.sessions)
	var err error
	w.runs, err = runs.New(&runs.Options{Sessions: w.sessions, Hub: w.hub, Make: w.make, Resume: w.resume, Limit: w.limit, Mask: w.masker})
	if err != nil {
		w.t.Fatal(err)
	}
	var once sync.Once
	w.stop = func() {
		once.Do(func() {
			err := w.runs.Close()
			if err := errors.Join(err, w.hub.Close()); err != nil {
				w.t.Error(err)
			}
		})
	}
}

// restart ends the daemon, as SIGTERM does, and starts another one.
func (w *runsEnv) restart() []string {
	w.t.Helper()
	w.stop()
	w.open()
	list, err := w.runs.Recover(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *runsEnv) make(ctx context.Context, n runs.AgentRequest) (*runs.AgentParts, error) {
	if w.making != nil {
		w.making(ctx, n)
	}
	text, ok := w.plays[n.Agent.Name]
	if !ok {
		return nil, fmt.Errorf("agent %s has no play", n.Agent.Name)
	}
	registry, err := tool.NewRegistry(append([]tool.Tool{&bash{w}}, w.tools...)...)
	if err != nil {
		return nil, err
	}
	m, err := scripted.New([]byte(text), nil)
	if err != nil {
		return nil, err
	}
	made := &runs.AgentParts{Model: m, Options: agent.Options{
		Tools: registry, Permissions: agent.Permissions{Config: policy.Config{Mode: policy.Mode(n.Spec.Permissions.Mode), Folders: []string{n.Spec.Cwd}}, AskTimeout: 0},
	}}
	if len(w.tools) > 0 {
		made.Options.Background = &agent.Background{}
	}
	if w.subagents {
		if err := w.addSubagents(&made.Options); err != nil {
			return nil, err
		}
	}
	if n.Spec.Workspace != "" {
		made.New = inWorkspace(m, n.Spec.Workspace)
	}
	return made, nil
}

// bash is a tool that runs nothing and records its commands.
type bash struct{ w *runsEnv }

func (b *bash) Spec() tool.Spec {
	return tool.Spec{Name: "Bash", Description: "runs", Input: json.RawMessage(`{"type":"object"}`)}
}

func (b *bash) command(c *tool.Call) (string, error) {
	var in struct{ Command string }
	err := json.Unmarshal(c.Input, &in)
	return in.Command, err
}

func (b *bash) Requests(c *tool.Call) ([]policy.Request, error) {
	line, err := b.command(c)
	return []policy.Request{{Operation: policy.OpCommand, Resource: line, Cwd: "/"}}, err
}

func (b *bash) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	line, _ := b.command(c)
	b.w.mu.Lock()
	b.w.ran = append(b.w.ran, line)
	during := b.w.during
	b.w.mu.Unlock()
	if during != nil {
		during(line)
	}
	if line == "wait" {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	return tool.Text("ran " + line), nil
}

func (w *runsEnv) did() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.ran...)
}

const pushScript = `
steps:
  - text: I push.
    tool_uses: [{id: u1, tool: Bash, input: {command: git push}}]
  - text: "pushed: {{last_result}}"
  - text: again
`

func single() *strategy.Strategy {
	return strategy.Single(strategy.Agent{Name: "writer", Type: strategy.LLM})
}

func (w *runsEnv) parse(text string) *strategy.Strategy {
	w.t.Helper()
	s, err := strategy.Parse("test.yaml", []byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// prepare prepares a run and returns its id.
func (w *runsEnv) prepare(s *strategy.Strategy) string {
	w.t.Helper()
	p, err := w.runs.Prepare(w.t.Context(), runs.PrepareOptions{Strategy: s, Actor: ann, Spec: runspec.Spec{Cwd: w.t.TempDir()}})
	if err != nil {
		w.t.Fatal(err)
	}
	return p.Run
}

// startNamed starts a run with this id. It may be called from any goroutine.
func (w *runsEnv) startNamed(id string) error {
	_, err := w.runs.Prepare(w.t.Context(), runs.PrepareOptions{Run: id, Strategy: single(), Actor: ann, Spec: runspec.Spec{Cwd: w.cwd}})
	if err == nil {
		err = w.runs.Start(w.t.Context(), id, "go", "", ann)
	}
	return err
}

// prepareAndStart prepares and starts a run.
func (w *runsEnv) prepareAndStart(s *strategy.Strategy, input string) (string, *watcher) {
	w.t.Helper()
	id := w.prepare(s)
	w.ok(w.runs.Start(w.t.Context(), id, input, "r1", ann))
	return id, w.watch(id, 0)
}

func (w *runsEnv) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *runsEnv) wantCode(err error, code wire.Code) {
	w.t.Helper()
	e, ok := errors.AsType[*runs.Error](err)
	if !ok || e.Code != code {
		w.t.Errorf("error %v, want code %s", err, code)
	}
}

// watcher is a subscriber of a run.
type watcher struct {
	w    *runsEnv
	sub  *feed.Subscription
	all  []feed.Record
	rest []feed.Record // of the last event
}

func (w *runsEnv) watch(id string, after int64) *watcher {
	w.t.Helper()
	sub, err := w.hub.Subscribe(w.t.Context(), id, after)
	w.ok(err)
	w.t.Cleanup(sub.Close)
	return &watcher{w: w, sub: sub}
}

// until reads until a record fits.
func (v *watcher) until(what string, fits func(feed.Record) bool) feed.Record {
	v.w.t.Helper()
	ctx, stop := context.WithTimeout(v.w.t.Context(), 20*time.Second)
	defer stop()
	for {
		for len(v.rest) > 0 {
			r := v.rest[0]
			v.rest = v.rest[1:]
			v.all = append(v.all, r)
			if fits(r) {
				return r
			}
		}
		e, err := v.sub.Next(ctx)
		if err != nil {
			v.w.t.Fatalf("waiting for %s: %v; so far %s", what, err, v.seen())
		}
		v.rest = e.Records
	}
}

func (v *watcher) seen() string {
	var list []string
	for _, r := range v.all {
		list = append(list, fmt.Sprintf("%s %.300s", r.Kind, r.Payload))
	}
	return strings.Join(list, "\n")
}

// event waits for a run.event.
func (v *watcher) event(name string) wire.RunEvent {
	v.w.t.Helper()
	var e wire.RunEvent
	v.until(name, func(r feed.Record) bool {
		e = wire.RunEvent{}
		return r.Kind == record.KindRunEvent && json.Unmarshal(r.Payload, &e) == nil && e.Event == name
	})
	return e
}

// approval waits for an approval request.
func (v *watcher) approval() approval.Request {
	v.w.t.Helper()
	var q approval.Request
	r := v.until("a question", func(r feed.Record) bool { return r.Kind == record.KindApprovalAsked })
	if err := json.Unmarshal(r.Payload, &q); err != nil {
		v.w.t.Fatal(err)
	}
	return q
}

func (v *watcher) answer() approval.Answer {
	v.w.t.Helper()
	var a approval.Answer
	r := v.until("an answer", func(r feed.Record) bool { return r.Kind == record.KindApprovalResolved })
	if err := json.Unmarshal(r.Payload, &a); err != nil {
		v.w.t.Fatal(err)
	}
	return a
}

func decision(q approval.Request, d approval.Decision) approval.Answer {
	return approval.Answer{RequestID: q.ID, Decision: d, Actor: "ann", Via: "test"}
}

// recordedEnds returns the recorded ends of a run.
func (w *runsEnv) recordedEnds(id string) (ends []api.RunStatus) {
	w.t.Helper()
	for r, err := range w.sessions.Records(w.t.Context(), id, session.Range{}) {
		w.ok(err)
		var e wire.RunEvent
		if r.Kind == record.KindRunEvent && json.Unmarshal(r.Payload, &e) == nil && e.Status.Ended() {
			ends = append(ends, e.Status)
		}
	}
	return ends
}

// waitEnded waits until a run is out of memory.
func (w *runsEnv) waitEnded(id string) {
	w.t.Helper()
	for w.runs.Busy(id) {
		select {
		case <-w.t.Context().Done():
			w.t.Fatal("the run does not end")
		case <-time.After(time.Millisecond): // the end is published before the run is forgotten
		}
	}
}
