package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// testEnv is a home and a working folder.
type testEnv struct {
	t         *testing.T
	home, dir string
}

func newTestEnv(t *testing.T) *testEnv {
	t.Helper()
	return &testEnv{t, t.TempDir(), t.TempDir()}
}

// play writes a model script and returns the model's name.
func (p *testEnv) play(steps string) string {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "play.yaml")
	if err := os.WriteFile(file, []byte("steps:\n"+steps), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return "scripted/" + file
}

func (p *testEnv) open(c holdfast.Config) *holdfast.Runtime {
	p.t.Helper()
	c.Home, c.Dir = p.home, p.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home}
	rt, err := holdfast.Open(p.t.Context(), &c)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return rt
}

// asks is a model script that writes a file, which needs an approval.
const asks = "  - tool_uses: [{tool: Write, input: {file_path: a.txt, content: it}}]\n  - text: done\n"

func allow(context.Context, approval.Request) (approval.Answer, error) {
	return approval.Answer{Decision: approval.Allow}, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wait waits for a run's result.
func wait(t *testing.T, r *holdfast.Run) *event.Result {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	res, err := r.Wait(ctx)
	must(t, err)
	return res
}

// types returns the types of a run's events.
func types(t *testing.T, r *holdfast.Run, after int64) (list []string, last int64) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for e, err := range r.Events(ctx, after) {
		must(t, err)
		list, last = append(list, e.Event.Type()), e.Seq
	}
	return list, last
}

func TestRun(t *testing.T) {
	p := newTestEnv(t)
	rt := p.open(holdfast.Config{Approve: allow})
	run, err := rt.Start(t.Context(), holdfast.RunSpec{Model: p.play(asks), Prompt: "write it"})
	must(t, err)
	live, last := types(t, run, 0)
	res := wait(t, run)
	if b, err := os.ReadFile(filepath.Join(p.dir, "a.txt")); res.Text != "done" || string(b) != "it" {
		t.Errorf("the result is %+v, the file has %q, %v", res, b, err)
	}
	for _, want := range []string{"turn_started", "approval_asked", "approval_resolved", "tool_started", "tool_finished", "turn_finished"} {
		if !slices.Contains(live, want) {
			t.Errorf("%s was not emitted: %q", want, live)
		}
	}
	again, _ := types(t, run, 0)
	if kept := slices.DeleteFunc(live, func(kind string) bool { return !slices.Contains(again, kind) }); !slices.Equal(kept, again) {
		t.Errorf("the log has the events %q, and live they were %q", again, live)
	}
	if rest, _ := types(t, run, last); len(rest) > 0 {
		t.Errorf("after the end there are %q", rest)
	}

	// The same session accepts more input.
	must(t, run.Send(t.Context(), transcript.Text{Text: "more"}))
	if res := wait(t, run); res.Err == nil || !strings.Contains(res.Err.Error(), "no step of the script") {
		t.Errorf("the play has ended, and the result is %+v", res)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run.Stop(over); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped without time: %v", err)
	}
	must(t, run.Stop(t.Context()))
	must(t, run.Stop(t.Context()))
	if err := run.Send(t.Context(), transcript.Text{Text: "x"}); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("a stopped run takes input: %v", err)
	}
}

// An approval request is answered through the run, or through the same run in another runtime.
func TestAnswer(t *testing.T) {
	p := newTestEnv(t)
	rt, other := p.open(holdfast.Config{}), p.open(holdfast.Config{})
	spec := holdfast.RunSpec{Model: p.play(asks), Prompt: "write it", Permissions: runspec.Permissions{Unattended: "wait"}}
	for _, by := range []*holdfast.Runtime{rt, other} {
		run, err := rt.Start(t.Context(), spec)
		must(t, err)
		seen, err := by.Attach(t.Context(), run.ID())
		must(t, err)
		for e, err := range seen.Events(t.Context(), 0) {
			must(t, err)
			q, ok := e.Event.(event.ApprovalAsked)
			if !ok {
				continue
			}
			open, err := by.Approvals(t.Context(), run.ID())
			must(t, err)
			if len(open) != 1 || open[0].ID != q.Request.ID {
				t.Errorf("open are %+v", open)
			}
			_, err = seen.Answer(t.Context(), q.Request.ID, approval.Answer{Decision: approval.AllowSession})
			must(t, err)
			if by == other {
				break // it does not end in that process
			}
		}
		if res := wait(t, run); res.Text != "done" {
			t.Errorf("the result is %+v", res)
		}
		got, err := by.Policy(t.Context(), run.ID())
		must(t, err)
		if got.Mode != policy.ModeDefault || len(got.Grants) != 1 {
			t.Errorf("the policy is %+v", got)
		}
		must(t, os.Remove(filepath.Join(p.dir, "a.txt")))
	}
}

// Without an approver, the answer is deny.
func TestNoApprover(t *testing.T) {
	p := newTestEnv(t)
	rt := p.open(holdfast.Config{})
	run, err := rt.Start(t.Context(), holdfast.RunSpec{Model: p.play(asks), Prompt: "write it"})
	must(t, err)
	res := wait(t, run)
	if _, err := os.Stat(filepath.Join(p.dir, "a.txt")); !os.IsNotExist(err) || len(res.Denials) != 1 {
		t.Errorf("the result is %+v, the file: %v", res, err)
	}
}

// An interrupted run is resumed as described by its spec, also by another process.
func TestResume(t *testing.T) {
	p := newTestEnv(t)
	rt := p.open(holdfast.Config{})
	spec := holdfast.RunSpec{
		Model: p.play("  - tool_uses: [{tool: Bash, input: {command: \"echo it >> ran; sleep 20\"}}]\n" + asks), Prompt: "go",
		Session:     runspec.Session{ID: "job"},
		Permissions: runspec.Permissions{Mode: "acceptEdits", Allow: []string{"Bash"}},
	}
	run, err := rt.Start(t.Context(), spec)
	must(t, err)
	for e, err := range run.Events(t.Context(), 0) {
		must(t, err)
		if _, ok := e.Event.(event.ToolStarted); ok {
			break
		}
	}
	if _, err := p.open(holdfast.Config{}).Resume(t.Context(), "job", ""); !errors.Is(err, session.ErrBusy) {
		t.Errorf("a run that works is resumed: %v", err)
	}
	must(t, run.Interrupt(t.Context()))
	if res := wait(t, run); res.Reason != event.ReasonInterrupted {
		t.Errorf("the result is %+v", res)
	}
	must(t, rt.Close())

	rt = p.open(holdfast.Config{})
	run, err = rt.Resume(t.Context(), "job", "go on")
	must(t, err)
	if res := wait(t, run); res.Text != "done" || len(res.Denials) > 0 {
		t.Errorf("resumed, the result is %+v", res)
	}
	must(t, run.Stop(t.Context()))
	run, err = rt.Resume(t.Context(), "job", "")
	must(t, err)
	if _, err := run.Wait(t.Context()); !errors.Is(err, agent.ErrNoInput) {
		t.Errorf("there is nothing to do: %v", err)
	}
	if _, err := rt.Resume(t.Context(), "none", ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("there is no such session: %v", err)
	}
}

// A program that resumes a run elsewhere is notified which of its variables are missing, and may rename it.
func TestResumeElsewhere(t *testing.T) {
	p := newTestEnv(t)
	rt := p.open(holdfast.Config{})
	run, err := rt.Start(t.Context(), holdfast.RunSpec{
		Model: p.play("  - text: one\n  - text: two\n"), Prompt: "go", Session: runspec.Session{ID: "job", Title: "first"},
		Environment: runspec.Environment{Variables: []string{"PATH", "TOKEN_OF_OLD"}},
	})
	must(t, err)
	wait(t, run)
	must(t, rt.Close())

	var notices []string
	rt = p.open(holdfast.Config{Notify: func(text string) { notices = append(notices, text) }})
	run, err = rt.Resume(t.Context(), "first", "more")
	must(t, err)
	if res := wait(t, run); res.Text != "two" || !slices.ContainsFunc(notices, func(n string) bool { return strings.HasSuffix(n, "not set in this process: TOKEN_OF_OLD") }) {
		t.Errorf("the result is %+v, notices %q", res, notices)
	}
	must(t, run.Stop(t.Context()))
	run, err = rt.Start(t.Context(), holdfast.RunSpec{Model: p.play("  - text: one\n"), Prompt: "x", Session: runspec.Session{ID: "job", Title: "second"}})
	must(t, err)
	wait(t, run)
	if m, err := rt.Sessions().Get(t.Context(), "job"); err != nil || m.Title != "second" {
		t.Errorf("the session is %+v, %v", m, err)
	}
}

// Close ends running work and waiting approvals; the approval request stays recorded.
func TestCloseWithOpenApproval(t *testing.T) {
	p := newTestEnv(t)
	asked := make(chan struct{})
	rt := p.open(holdfast.Config{Approve: func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
		close(asked)
		<-ctx.Done()
		return approval.Answer{}, ctx.Err()
	}})
	run, err := rt.Start(t.Context(), holdfast.RunSpec{Model: p.play(asks), Prompt: "go"})
	must(t, err)
	<-asked
	received, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for e, err := range run.Events(t.Context(), 0) {
			if err != nil {
				t.Error(err)
			}
			if _, ok := e.Event.(event.ApprovalAsked); ok {
				close(received)
			}
		}
	}()
	<-received
	must(t, rt.Close())
	<-ended
	if _, err := os.Stat(filepath.Join(p.dir, "a.txt")); !os.IsNotExist(err) {
		t.Errorf("it was not allowed: %v", err)
	}
}

// Many goroutines send and read at once; every input is answered, and every reader gets every record.
func TestConcurrentUse(t *testing.T) {
	p := newTestEnv(t)
	rt := p.open(holdfast.Config{})
	steps := strings.Repeat("  - text: yes\n", 60)
	run, err := rt.Start(t.Context(), holdfast.RunSpec{Model: p.play(steps), Prompt: "go"})
	must(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if err := run.Send(t.Context(), transcript.Text{Text: "more"}); err != nil {
					t.Error(err)
				}
				types(t, run, 0)
			}
		})
	}
	all.Wait()
	wait(t, run)
	list, _ := types(t, run, 0)
	l, err := rt.Sessions().Load(t.Context(), run.ID(), nil)
	must(t, err)
	users := 0
	for _, it := range l.Items {
		if it.Role() == transcript.RoleUser {
			users++
		}
	}
	items := 0
	for _, kind := range list {
		if kind == "item_appended" {
			items++
		}
	}
	if users != 21 || items != len(l.Items) {
		t.Errorf("%d inputs are recorded, %d items of %d were emitted", users, items, len(l.Items))
	}
}

// A run with few tools may have sub-agents, which have no more tools than the run.
func TestSubagentToolLimit(t *testing.T) {
	p := newTestEnv(t)
	rt := p.open(holdfast.Config{})
	kind := p.play("  - tool_uses: [{tool: Bash, input: {command: \"echo it > a.txt\"}}]\n  - text: I am here\n")
	run, err := rt.Start(t.Context(), holdfast.RunSpec{
		Model:  p.play("  - tool_uses: [{tool: Agent, input: {description: d, prompt: go, subagent_type: helper}}]\n  - text: done\n"),
		Prompt: "go", Tools: []string{"Read", "Agent"}, Permissions: runspec.Permissions{Mode: "bypassPermissions"},
		Agents: json.RawMessage(`{"helper": {"description": "helps", "prompt": "help", "model": "` + kind + `"}}`),
	})
	must(t, err)
	wait(t, run)
	l, err := rt.Sessions().Load(t.Context(), run.ID(), nil)
	must(t, err)
	result := l.Items[2].JSON
	if !strings.Contains(string(result), "I am here") {
		t.Errorf("the sub-agent answered %s", result)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "a.txt")); !os.IsNotExist(err) {
		t.Errorf("it has Bash: %v", err)
	}
}

// A fork does not change its session.
func TestFork(t *testing.T) {
	p := newTestEnv(t)
	rt := p.open(holdfast.Config{Approve: allow})
	run, err := rt.Start(t.Context(), holdfast.RunSpec{Model: p.play("  - text: one\n  - text: two\n"), Prompt: "go"})
	must(t, err)
	wait(t, run)
	fork, err := rt.Fork(t.Context(), run.ID(), "again", nil)
	must(t, err)
	if res := wait(t, fork); fork.ID() == run.ID() || res.Text != "two" {
		t.Errorf("the fork's result is %+v", res)
	}
	l, err := rt.Sessions().Load(t.Context(), run.ID(), nil)
	must(t, err)
	if len(l.Items) != 2 {
		t.Errorf("the session has %d items", len(l.Items))
	}
}

// The program's own store, tool and policy replace the default ones.
func TestCustomParts(t *testing.T) {
	p := newTestEnv(t)
	store := memory.New()
	weather, err := tool.New(tool.Spec{Name: "Weather", Description: "Tells the weather.", ReadOnly: true},
		func(context.Context, *tool.Call, struct{}) (tool.Result, error) { return tool.Text("rain"), nil }, nil)
	must(t, err)
	rt := p.open(holdfast.Config{SessionStore: store, Store: "host:test", Tools: []tool.Tool{weather}, Approve: allow})
	run, err := rt.Start(t.Context(), holdfast.RunSpec{
		Model: p.play("  - tool_uses: [{tool: Weather, input: {}}]\n  - text: done\n"), Prompt: "go", Session: runspec.Session{ID: "s"},
	})
	must(t, err)
	_, err = run.Change(t.Context(), policy.Change{Mode: policy.ModePlan})
	must(t, err)
	if res := wait(t, run); res.Text != "done" {
		t.Errorf("the result is %+v", res)
	}
	got, err := rt.Policy(t.Context(), "s")
	must(t, err)
	if got.Mode != policy.ModePlan {
		t.Errorf("the policy is %+v", got)
	}
	must(t, rt.Close())
	l, err := session.New(store, nil).Load(t.Context(), "s", nil)
	must(t, err)
	if len(l.Items) < 4 {
		t.Errorf("the store has %d items", len(l.Items))
	}
}

// An invalid run is rejected, and leaves nothing behind.
func TestStartRefuses(t *testing.T) {
	p := newTestEnv(t)
	rt := p.open(holdfast.Config{})
	for _, tt := range []struct {
		spec holdfast.RunSpec
		want string
	}{
		{holdfast.RunSpec{Prompt: "x"}, "model"},
		{holdfast.RunSpec{Model: "no/such", Prompt: "x"}, "provider"},
		{holdfast.RunSpec{Model: "scripted/none", Prompt: "x"}, "none"},
		{holdfast.RunSpec{Model: p.play(asks), Prompt: "x", Session: runspec.Session{NoPersist: true}}, "no_persist"},
		{holdfast.RunSpec{StrategyPath: "s.yaml", Prompt: "x"}, "strategies"},
		{holdfast.RunSpec{Permissions: runspec.Permissions{Mode: "none"}}, "permissions.mode"},
		{holdfast.RunSpec{Workspace: "none", Prompt: "x"}, "none"},
		{holdfast.RunSpec{Model: p.play(asks), Cwd: filepath.Join(p.dir, "none")}, "none"},
		{holdfast.RunSpec{Model: p.play(asks), ModelOptions: runspec.ModelOptions{BaseURL: "https://x:sk-ant-api03-" + strings.Repeat("b7", 40) + "@h"}}, "secret"},
		{holdfast.RunSpec{Model: p.play(asks), Environment: runspec.Environment{References: map[string]string{"A": "env:NONE"}}}, "NONE"},
	} {
		run, err := rt.Start(t.Context(), tt.spec)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, %v", tt.spec, run, err)
		}
	}
	list, err := rt.Sessions().List(t.Context(), session.Query{})
	must(t, err)
	if len(list.Sessions) > 0 {
		t.Errorf("not removed: %+v", list.Sessions)
	}
	must(t, rt.Close())
	must(t, rt.Close())
	if _, err := rt.Start(t.Context(), holdfast.RunSpec{Model: p.play(asks), Prompt: "x"}); err == nil {
		t.Error("a closed runtime starts a run")
	}
}
