package cli

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	library "github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/containeragent"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// sameRun is a run that is executed once in each way of running.
type sameRun struct {
	play   string
	limits runspec.Limits
	reason event.Reason      // why it ends
	not    map[string]string // ways that cannot run it, and why
}

// sameRuns together contain each type of event that a run can emit in every way.
var sameRuns = map[string]sameRun{
	"many things": {reason: event.ReasonCompleted, play: `
context: 40000
chunk: 7
price: {input: 3, output: 15}
steps:
  - {when: {system: summarise the history}, text: much was done, usage: {input: 90, output: 9}}
  - {when: {result: the end}, text: all is done, usage: {input: 80, output: 8}}
  - thinking: I read it first.
    text: I look at the file.
    tool_uses: [{id: u1, tool: Read, input: {file_path: a.txt}}]
    usage: {input: 10, output: 1}
  - {tool_uses: [{id: u2, tool: Bash, input: {command: rm a.txt}}], usage: {input: 20, output: 2}}
  - {tool_uses: [{id: u3, tool: Bash, input: {command: "touch asked && echo touched && sleep 0.2"}}], usage: {input: 30, output: 3}}
  - {tool_uses: [{id: u4, tool: Bash, input: {command: "false"}}], usage: {input: 40, output: 4}}
  - {tool_uses: [{id: u5, tool: Read, input: {file_path: nowhere.txt}}], usage: {input: 50, output: 5}}
  - {tool_uses: [{id: u6, tool: Nothing, input: {}}], usage: {input: 60, output: 6}}
  - error: {kind: rate_limit, message: slow down, retry_after: 1ms, times: 1}
    text: This is said at the second attempt.
    tool_uses: [{id: u9, tool: Read, input: {file_path: b.txt}}]
    usage: {input: 39000, output: 5}
`},
	"a sub-agent": {reason: event.ReasonCompleted, not: map[string]string{"log pipe": "an agent in a container has no sub-agents and no plan mode"}, play: `
steps:
  - name: part
    when: {user: SUBTASK}
    text: I look.
    tool_uses: [{id: p1, tool: Read, input: {file_path: a.txt}}]
    usage: {input: 10, output: 1}
  - {name: asks, when: {after: part}, tool_uses: [{id: p2, tool: Bash, input: {command: touch part}}], usage: {input: 10, output: 2}}
  - {name: may not, when: {after: asks}, tool_uses: [{id: p3, tool: Bash, input: {command: rm a.txt}}], usage: {input: 10, output: 3}}
  - {when: {after: may not}, text: the part is done, usage: {input: 10, output: 4}}
  - {tool_uses: [{id: u1, tool: Agent, input: {description: a part, prompt: SUBTASK one}}], usage: {input: 20, output: 1}}
  - {tool_uses: [{id: u2, tool: EnterPlanMode, input: {}}], usage: {input: 20, output: 2}}
  - error: {kind: rate_limit, message: slow down, after_chunks: 2, retry_after: 1ms, times: 1}
    text: This breaks off once.
    chunk: 7
    usage: {input: 20, output: 3}
`},
	"a budget": {reason: event.ReasonBudget, limits: runspec.Limits{MaxBudgetUSD: 0.01}, play: `
price: {input: 3, output: 15}
steps:
  - {text: this is dear, usage: {input: 1000, output: 2000}, tool_uses: [{id: u1, tool: Read, input: {file_path: a.txt}}]}
  - {text: this comes too late}
`},
	"a bound of calls": {reason: event.ReasonMaxTurns, limits: runspec.Limits{MaxTurns: 1}, play: `
steps:
  - {text: I look., tool_uses: [{id: u1, tool: Read, input: {file_path: a.txt}}], usage: {input: 10, output: 1}}
  - {text: this comes too late}
`},
}

// tools are available in every way of running the run; nil: all.
func (r sameRun) tools() []string {
	if r.not["log pipe"] != "" {
		return nil
	}
	return []string{"Read", "Bash"}
}

// sameSettings have a hook with output.
const sameSettings = `{"hooks": {"PreToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": "echo '{\"systemMessage\": \"a file is read\"}'"}]}]}}`

// observed contains the events of a run in one way of running.
type observed struct {
	events   []event.Event               // as emitted
	records  []session.Record            // of the run's log
	children map[string][]session.Record // of the logs of its sub-agents
	frames   []string                    // of a WebSocket, in the daemon
	ownLog   bool                        // the way emits the events of the run's log, without those of sub-agents
}

// runEnv is the folder of a run.
type runEnv struct {
	t    *testing.T
	dir  string
	work string
	env  []string
	spec runspec.Spec
	play string
}

func newRunEnv(t *testing.T, of sameRun) *runEnv {
	t.Helper()
	dir := shortDir(t)
	s := &runEnv{t: t, dir: filepath.Join(dir, strings.Repeat("d", max(1, 30-len(dir)))), play: of.play} // paths count as tokens
	s.work = filepath.Join(s.dir, "work")
	if err := os.MkdirAll(s.work, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, s.work, "a.txt", "one\ntwo\n")
	write(t, s.work, "b.txt", "the end\n")
	write(t, s.dir, "play.yaml", of.play)
	s.env = environ(s.dir)
	s.spec = runspec.Spec{
		Prompt: "go", Cwd: s.work, Model: "scripted/" + filepath.Join(s.dir, "play.yaml"), Session: runspec.Session{ID: "s"},
		Permissions: runspec.Permissions{Allow: []string{"Bash(false)"}, Deny: []string{"Bash(rm:*)"}, Settings: []string{sameSettings}},
		Limits:      of.limits, Tools: of.tools(), Instructions: runspec.Instructions{System: "You work."},
	}
	return s
}

func (s *runEnv) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *runEnv) program() *command.Program {
	p := &command.Program{Env: s.env, Getwd: func() (string, error) { return s.work, nil }}
	p.SetDefaults()
	return p
}

func (s *runEnv) model() model.Model {
	s.t.Helper()
	m, err := scripted.New([]byte(s.play), nil)
	s.ok(err)
	return m
}

func allow(context.Context, approval.Request) (approval.Answer, error) {
	return approval.Answer{Decision: approval.Allow, Actor: "ann", Via: "test"}, nil
}

// logs reads the logs of the run and of its sub-agents.
func (s *runEnv) logs(sessions *session.Sessions, out *observed) {
	s.t.Helper()
	read := func(id string) (list []session.Record) {
		for r, err := range sessions.Effective(s.t.Context(), id, session.Range{}) {
			s.ok(err)
			list = append(list, r)
		}
		return list
	}
	out.records, out.children = read("s"), map[string][]session.Record{}
	page, err := sessions.List(s.t.Context(), session.Query{Owner: "s", Worktrees: true})
	s.ok(err)
	for _, m := range page.Sessions {
		out.children[m.ID] = read(m.ID)
	}
}

// gatedModel is a model that is not called before a client follows the run: the events of its calls are not
// recorded.
type gatedModel struct {
	model.Model
	followed <-chan struct{}
}

func (h gatedModel) Encode(item transcript.Encoded) (model.EncodedItem, error) {
	<-h.followed
	return h.Model.Encode(item)
}

// embedded runs the agent in a Go program that uses package holdfast.
func (s *runEnv) embedded() *observed {
	s.t.Helper()
	followed := make(chan struct{})
	rt, err := library.Open(s.t.Context(), &library.Config{Env: s.env, Dir: s.work, Model: gatedModel{s.model(), followed}, Approve: allow})
	s.ok(err)
	run, err := rt.Start(s.t.Context(), s.spec)
	s.ok(err)
	out := &observed{ownLog: true}
	follow := sync.OnceFunc(func() { close(followed) })
	for e, err := range run.Events(s.t.Context(), 0) {
		s.ok(err)
		follow()
		out.events = append(out.events, e.Event)
	}
	_, err = run.Wait(s.t.Context())
	s.ok(err)
	s.logs(rt.Sessions(), out)
	s.ok(rt.Close())
	return out
}

// alone runs the agent by itself.
func (s *runEnv) alone() *observed {
	s.t.Helper()
	m, err := compose.Make(s.t.Context(), &compose.Request{Env: s.program().Environment(), Spec: &s.spec, Cwd: s.work, Model: s.model()})
	s.ok(err)
	defer m.Close()
	o := m.Options
	o.Sessions, o.Permissions.Ask = session.New(memory.New(), nil), allow
	o.Session = session.RestoreOptions{SessionID: "s", Opened: session.Opened{CWD: s.work}}
	a, err := agent.New(m.Models.Primary, &o)
	s.ok(err)
	m.Attach(a)
	out := &observed{}
	for e, err := range a.Run(s.t.Context(), transcript.Text{Text: s.spec.Prompt}) {
		s.ok(err)
		out.events = append(out.events, e)
	}
	s.ok(a.Close())
	s.logs(o.Sessions, out)
	return out
}

// logPipe runs the agent as in a container, with this side as its host.
func (s *runEnv) logPipe() *observed {
	s.t.Helper()
	sessions := session.New(memory.New(), nil)
	restored, err := sessions.Restore(s.t.Context(), session.RestoreOptions{SessionID: "s", Opened: session.Opened{CWD: s.work}})
	s.ok(err)
	defer restored.Log.Close()
	input, err := hostpipe.EncodeParts([]transcript.Part{transcript.Text{Text: s.spec.Prompt}})
	s.ok(err)
	m := s.model()
	spec, err := json.Marshal(hostpipe.Spec{
		Version: hostpipe.SpecVersion, Session: "s", Input: input, Models: []model.Info{m.Info()}, Interactive: true, Settings: &settings.Portable{}, Run: s.spec,
	})
	s.ok(err)
	out := &observed{}
	container, host := net.Pipe()
	server, err := hostpipe.NewServer(host, sessions, hostpipe.ServeOptions{
		Session: "s", Lease: restored.Log.Lease(), Models: []model.Model{m}, Ask: allow,
		Budget: hostpipe.Budget{Calls: s.spec.Limits.MaxTurns, USD: s.spec.Limits.MaxBudgetUSD},
		Event:  func(e event.Event, _ int) { out.events = append(out.events, e) },
	})
	s.ok(err)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(s.t.Context()) }) // it ends with the connection
	p := s.program()
	p.Stdin = strings.NewReader(string(spec))
	steer := &containeragent.Steering{Ready: make(chan struct{})}
	c := hostpipe.Dial(container, steer)
	_, err = containeragent.RunTurn(s.t.Context(), p, c, steer)
	s.ok(err)
	s.ok(c.Close())
	served.Wait()
	s.ok(server.Failed())
	s.logs(sessions, out)
	return out
}

// daemon runs the agent in a daemon, and follows it over HTTP and a WebSocket.
func (s *runEnv) daemon() *observed {
	s.t.Helper()
	d, stop := serve(s.t, s.dir, s.env)
	off := false
	_, err := d.CreateRun(s.t.Context(), &api.NewRun{Spec: s.spec, Environ: s.env, Start: &off})
	s.ok(err)
	ws := s.socket()
	out := &observed{}
	var followed sync.WaitGroup
	followed.Go(func() { out.frames = s.follow(ws) })
	for e, err := range d.Events(s.t.Context(), "s", 0) {
		s.ok(err)
		if e.Record != nil {
			s.ok(e.Err)
		}
		for _, one := range e.Events {
			if sub, ok := one.(event.SubagentEvent); ok {
				one = sub.Event
			}
			if q, ok := one.(event.ApprovalAsked); ok {
				_, err := d.Decide(s.t.Context(), q.Request.ID, api.Decision{Decision: approval.Allow, Digest: q.Request.Digest})
				s.ok(err)
			}
		}
		out.events = append(out.events, e.Events...)
		if e.CaughtUp && e.Seq == 0 {
			_, err := d.StartRun(s.t.Context(), "s", s.spec.Prompt)
			s.ok(err)
		}
		if s.ended(e) {
			break
		}
	}
	followed.Wait()
	_ = ws.CloseNow() // it may be closed already
	stop()
	sessions, closeStore, err := s.program().OpenStore(s.t.Context(), "")
	s.ok(err)
	defer closeStore()
	s.logs(sessions, out)
	return out
}

// handle runs the agent in a daemon, from a program that uses its client.
func (s *runEnv) handle() *observed {
	s.t.Helper()
	d, stop := serve(s.t, s.dir, s.env)
	run, err := d.Prepare(s.t.Context(), s.spec, s.env)
	s.ok(err)
	run.SetAsker(allow)
	out := &observed{}
	for e, err := range run.Events(s.t.Context(), 0) {
		s.ok(err)
		out.events = append(out.events, e.Event)
	}
	res, err := run.Wait(s.t.Context())
	s.ok(err)
	if last := out.events[len(out.events)-1]; !reflect.DeepEqual(last, *res) {
		s.t.Errorf("the last event is %+v, the result %+v", last, res)
	}
	attached, err := d.Attach(s.t.Context(), "s")
	s.ok(err)
	var again []event.Event
	for e, err := range attached.Events(s.t.Context(), 0) {
		s.ok(err)
		again = append(again, e.Event)
	}
	kept := func(list []event.Event) []event.Event {
		return slices.DeleteFunc(slices.Clone(list), event.Provisional)
	}
	if diff := cmp.Diff(lines(s.t, kept(out.events)), lines(s.t, kept(again))); diff != "" {
		s.t.Errorf("emitted -, read again +:\n%s", diff)
	}
	stop()
	sessions, closeStore, err := s.program().OpenStore(s.t.Context(), "")
	s.ok(err)
	defer closeStore()
	s.logs(sessions, out)
	return out
}

// ended reports whether an event ends the run.
func (s *runEnv) ended(e *client.Event) bool {
	s.t.Helper()
	if e.Record == nil || e.Record.Kind != record.KindRunEvent {
		return false
	}
	var r wire.RunEvent
	s.ok(json.Unmarshal(e.Record.Payload, &r))
	return slices.Contains([]string{wire.RunCompleted, wire.RunFailed, wire.RunCancelled}, r.Event)
}

// socket subscribes to the run.
func (s *runEnv) socket() *websocket.Conn {
	s.t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(s.dir, "home", "run", "daemon.sock"))
	}
	ws, _, err := websocket.Dial(s.t.Context(), "ws://daemon/v1/ws", &websocket.DialOptions{ //nolint:bodyclose // the connection is closed
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial}},
	})
	s.ok(err)
	ws.SetReadLimit(-1)
	s.ok(ws.Write(s.t.Context(), websocket.MessageText, []byte(`{"type":"subscribe","runId":"s","afterSeq":0}`)))
	for {
		_, frame, err := ws.Read(s.t.Context())
		s.ok(err)
		if strings.Contains(string(frame), `"caught_up"`) {
			return ws
		}
	}
}

// follow reads until the run has ended.
func (s *runEnv) follow(ws *websocket.Conn) (frames []string) {
	for {
		_, frame, err := ws.Read(s.t.Context())
		if err != nil {
			s.t.Error(err)
			return frames
		}
		frames = append(frames, string(frame))
		if text := string(frame); strings.Contains(text, `"strategy_completed"`) || strings.Contains(text, `"strategy_error"`) {
			return frames
		}
	}
}
