package workspace

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/workspace/claude/claudetest"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// claudeProgram builds the stand-in for Claude Code once.
var claudeProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "holdfast-claude-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "claude")
	build := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/claude")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return os.ReadFile(out)
})

// agentImage builds an image with the supervisor and the stand-in.
func agentImage(t testing.TB, e *engine.Engine) string {
	t.Helper()
	inside, err := insideProgram()
	if err != nil {
		t.Fatal(err)
	}
	claude, err := claudeProgram()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, body := range map[string][]byte{"usr/local/bin/holdfast": inside, "usr/local/bin/claude": claude} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(body)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ref := fmt.Sprintf("holdfast-test/claude:%d", time.Now().UnixNano())
	if _, err := e.Import(t.Context(), &b, ref, []string{"ENV PATH=/usr/local/bin"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.RemoveImage(context.WithoutCancel(t.Context()), ref); err != nil && !errors.Is(err, engine.ErrNoImage) {
			t.Error(err)
		}
	})
	return ref
}

// engineEnv is a workspace with a stand-in for Claude Code, on the test engine.
type engineEnv struct {
	w        *Workspaces
	e        *engine.Engine
	set      *Settings
	sessions *session.Sessions
}

func newEngineEnv(t *testing.T) *engineEnv {
	t.Helper()
	e := testimage.Engine(t)
	image := agentImage(t, e) // removed after the containers that use it
	x := &engineEnv{e: e, w: newWorkspaces(t, e, t.TempDir()), sessions: session.New(memory.New(), nil)}
	set, err := x.w.Create(t.Context(), Settings{
		Slug: "blog", Image: image, Agent: AgentSpec{Kind: KindClaude}, Credentials: []string{"MADE_UP_KEY"},
		Limits: Limits{Memory: 256 << 20, PIDs: 256},
	})
	if err != nil {
		t.Fatal(err)
	}
	x.set = set
	return x
}

func (x *engineEnv) agent(t *testing.T, id string, o agent.Options) *Agent {
	t.Helper()
	o.Sessions, o.Session.SessionID = x.sessions, id
	a, err := x.w.Agent(t.Context(), "blog", AgentOptions{Options: o, Environ: []string{"MADE_UP_KEY=abc" + "def", "HOLDFAST_OTHER=1", claudetest.Variable}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// runTurn runs one turn and returns its result.
func runTurn(t *testing.T, a *Agent, text string) event.Result {
	t.Helper()
	for e, err := range a.Run(t.Context(), transcript.Text{Text: text}) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := e.(event.Result); ok {
			return r
		}
	}
	t.Fatal("there is no result")
	return event.Result{}
}

func (x *engineEnv) calls(t *testing.T) []claudetest.Call {
	t.Helper()
	calls, err := claudetest.Calls(x.w.dirs(x.set).Home)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

func hasArg(c claudetest.Call, flag string) bool { return slices.Contains(c.Args, flag) }

// After its container was killed, the agent's own session is resumed. Approval requests use paths of the host.
func TestAgentInContainer(t *testing.T) {
	x := newEngineEnv(t)
	var asked []policy.Request
	a := x.agent(t, "one", agent.Options{Permissions: agent.Permissions{Ask: func(_ context.Context, q approval.Request) (approval.Answer, error) {
		asked = append(asked, q.Requests...)
		return approval.Answer{Decision: approval.Allow, Actor: "ann"}, nil
	}}})
	if r := runTurn(t, a, "run touch /work/made"); r.Reason != event.ReasonCompleted {
		t.Fatalf("%+v", r)
	}
	project := x.w.dirs(x.set).Project
	if len(asked) != 1 || asked[0].Resource != "touch "+project+"/made" {
		t.Errorf("asked about %+v", asked)
	}
	if _, err := os.Stat(filepath.Join(project, "made")); err != nil {
		t.Error(err)
	}
	c, err := x.w.Ensure(t.Context(), "blog")
	if err != nil {
		t.Fatal(err)
	}
	id := c.ID
	_ = c.Close()
	if err := x.e.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if r := runTurn(t, a, "say again"); r.Reason != event.ReasonCompleted || r.Text != "again" {
		t.Fatalf("%+v", r)
	}
	calls := x.calls(t)
	if len(calls) != 2 || hasArg(calls[0], "--resume") || !hasArg(calls[1], "--resume") || calls[1].Text != "say again" {
		t.Errorf("started %+v", calls)
	}
	m, err := x.sessions.Get(t.Context(), "one")
	if err != nil || m.Project != x.set.SessionProject() || m.CWD != project {
		t.Errorf("%+v, %v", m, err)
	}
	// a link in place of its file is not followed
	file := filepath.Join(x.w.dirs(x.set).Home, ".claude/projects/-work", calls[1].Args[len(calls[1].Args)-1]+".jsonl")
	if err := errors.Join(os.Rename(file, file+"2"), os.Symlink("/etc/passwd", file)); err != nil {
		t.Fatal(err)
	}
	if r := runTurn(t, a, "say more"); r.Reason != event.ReasonCompleted {
		t.Fatalf("%+v", r)
	}
	if last := x.calls(t)[2]; hasArg(last, "--resume") || !strings.Contains(last.Text, "<conversation_history>") {
		t.Errorf("started %+v", last)
	}
}

// When one session runs out of memory, the other keeps running, and the result of the first names the cause.
func TestOneSessionOutOfMemory(t *testing.T) {
	x := newEngineEnv(t)
	other, hungry := x.agent(t, "other", agent.Options{}), x.agent(t, "hungry", agent.Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	working, ended := make(chan struct{}), make(chan event.Result, 1)
	go func() {
		defer close(ended)
		for e, err := range other.Run(ctx, transcript.Text{Text: "wait"}) {
			switch e := e.(type) {
			case event.TextDelta:
				close(working)
			case event.Result:
				ended <- e
			}
			if err != nil {
				return
			}
		}
	}()
	<-working
	r := runTurn(t, hungry, "eat 400")
	if r.Reason != event.ReasonFailed || !errors.Is(r.Err, ErrOutOfMemory) || !strings.Contains(r.Err.Error(), "ran out of memory") {
		t.Errorf("%+v", r)
	}
	select {
	case got := <-ended:
		t.Errorf("the other ended too: %+v", got)
	default:
	}
	stop()
	if got := <-ended; got.Reason != event.ReasonInterrupted || got.Text != "working" {
		t.Errorf("%+v", got)
	}
	if r := runTurn(t, hungry, "say on"); r.Reason != event.ReasonCompleted {
		t.Errorf("%+v", r)
	}
}

// An ephemeral session stores nothing; its agent gets the history as text.
func TestEphemeralAgent(t *testing.T) {
	x := newEngineEnv(t)
	a, err := x.w.Agent(t.Context(), "blog", AgentOptions{
		Options: agent.Options{Sessions: x.sessions, Session: session.RestoreOptions{SessionID: "one"}}, Ephemeral: true, Environ: []string{"MADE_UP_KEY=abc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, text := range []string{"say one", "say two"} {
		if r := runTurn(t, a, text); r.Reason != event.ReasonCompleted {
			t.Fatalf("%+v", r)
		}
	}
	if calls := x.calls(t); len(calls) != 0 {
		t.Errorf("the home has %+v", calls)
	}
	_ = a.Close()
	if list, err := x.e.List(t.Context(), map[string]string{labelHome: x.w.homeHash()}); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
