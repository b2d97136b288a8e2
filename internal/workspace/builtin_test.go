//go:build unix

package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

const twice = `
chunk: 4
price: {input: 1, output: 1}
steps:
  - text: First I look.
    tool_uses: [{tool: Bash, input: {command: "echo hello > made.txt && echo $HOME"}}]
  - text: "Made."
  - expect: {user: again}
    text: And again.
`

func TestBuiltinTurns(t *testing.T) {
	h := newBuiltinEnv(t, twice)
	a := h.agent()
	names, res := h.run(t.Context(), a, "do it", nil)
	if res.Reason != event.ReasonCompleted || res.Text != "First I look.\nMade." || res.Turns != 2 || res.SessionID != "s" || res.CostUSD <= 0 {
		t.Errorf("the result is %+v", res)
	}
	if b, err := os.ReadFile(filepath.Join(h.dir, "made.txt")); err != nil || string(b) != "hello\n" {
		t.Errorf("the command has left %q %v", b, err)
	}
	got := strings.Join(names, " ")
	for _, want := range []string{
		"SessionOpened", "TurnStarted user", "TextDelta", "assistant", "DecisionMade ToolStarted", "ToolFinished",
		"UsageUpdated", "TurnFinished Result",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not among the events: %s", want, got)
		}
	}
	if names[0] != "SessionOpened" || strings.Count(got, "SessionOpened") != 1 {
		t.Errorf("events: %s", got)
	}
	if held, err := h.sessions.Lease(t.Context(), "s"); err != nil || held == nil || held.Holder.PID != os.Getpid() {
		t.Errorf("between turns the lease is %+v %v", held, err)
	}

	_, res = h.run(t.Context(), a, "again", nil)
	if res.Reason != event.ReasonCompleted || res.Text != "And again." || res.Turn != "turn-2" {
		t.Errorf("the second result is %+v", res)
	}
	h.checkLog()
	m, err := h.sessions.Get(t.Context(), "s")
	if err != nil || m.CWD != "/host/project" || m.Project != "workspace:w" || m.MessageCount != 6 {
		t.Errorf("the session is listed as %+v %v", m, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if held, _ := h.sessions.Lease(t.Context(), "s"); held != nil {
		t.Errorf("after Close the lease is %+v", held)
	}

	b := h.agent() // another agent resumes
	if _, res = h.run(t.Context(), b, "more", nil); res.Reason != event.ReasonFailed || !strings.Contains(res.Err.Error(), "no step") && res.Err == nil {
		t.Errorf("the third result is %+v", res)
	}
	var me *model.Error
	if !errors.As(res.Err, &me) || me.Kind != model.ErrorInvalid {
		t.Errorf("the model's error came as %T %v", res.Err, res.Err)
	}
	if len(b.Snapshot().Items) != 7 {
		t.Errorf("the snapshot has %d items", len(b.Snapshot().Items))
	}
}

// The process has no keys of the host in its environment, arguments or input.
func TestBuiltinHasNoKeys(t *testing.T) {
	h := newBuiltinEnv(t, `
steps:
  - tool_uses: [{tool: Bash, input: {command: "tr '\\0' '\\n' < /proc/$PPID/environ; env"}}]
  - text: "{{last_result}}"
`)
	t.Setenv("ANTHROPIC_API_KEY", "sk-"+"ant-secret")
	_, res := h.run(t.Context(), h.agent(), "look", nil)
	if strings.Contains(res.Text, "ant-secret") || res.Reason != event.ReasonCompleted {
		t.Errorf("the process sees %+v", res)
	}
}

const asks = `
steps:
  - tool_uses: [{tool: Bash, input: {command: "echo yes > asked.txt"}}]
  - text: "{{last_result}}"
  - tool_uses: [{tool: Bash, input: {command: "echo yes > asked.txt"}}]
  - text: "again"
`

func TestBuiltinApprovals(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ask     func(ctx context.Context, q approval.Request) (approval.Answer, error)
		ran     bool
		denials int
		by      string
	}{
		{"allowed", func(context.Context, approval.Request) (approval.Answer, error) {
			return approval.Answer{Decision: approval.Allow, Actor: "ada"}, nil
		}, true, 0, "ada"},
		{"denied", func(context.Context, approval.Request) (approval.Answer, error) {
			return approval.Answer{Decision: approval.Deny, Actor: "ada", Message: "not today"}, nil
		}, false, 1, "ada"},
		{"failing", func(context.Context, approval.Request) (approval.Answer, error) {
			return approval.Answer{}, errors.New("the terminal is gone")
		}, false, 1, "nobody"},
		{"nobody", nil, false, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newBuiltinEnv(t, asks)
			h.o.Spec.Run.Permissions.Mode, h.o.Ask = "default", tt.ask
			_, res := h.run(t.Context(), h.agent(), "go", nil)
			_, err := os.Stat(filepath.Join(h.dir, "asked.txt"))
			if ran := err == nil; ran != tt.ran || len(res.Denials) != tt.denials {
				t.Errorf("it ran: %v, %+v", ran, res)
			}
			for r, err := range h.sessions.Records(t.Context(), "s", session.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Kind == record.KindApprovalResolved && !strings.Contains(string(r.Payload), `"by":"`+tt.by+`"`) {
					t.Errorf("the recorded answer is %s", r.Payload)
				}
			}
			h.checkLog()
		})
	}
}

// An answer for the session creates a grant that applies to later turns of the session.
func TestBuiltinGrants(t *testing.T) {
	h := newBuiltinEnv(t, asks)
	asked := 0
	h.o.Spec.Run.Permissions.Mode = "default"
	h.o.Ask = func(context.Context, approval.Request) (approval.Answer, error) {
		asked++
		return approval.Answer{Decision: approval.AllowSession, Actor: "ada"}, nil
	}
	a := h.agent()
	h.run(t.Context(), a, "go", nil)
	_, res := h.run(t.Context(), a, "once more", nil)
	if asked != 1 || len(a.Guards().Grants()) != 1 || res.Text != "again" {
		t.Errorf("asked %d times, %d grants, %+v", asked, len(a.Guards().Grants()), res)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(a.Guards().Grants()); n != 1 {
		t.Errorf("after the run %d grants are left, want 1", n)
	}
}

// Another client answers while the approver at this terminal is asked.
func TestBuiltinAnsweredElsewhere(t *testing.T) {
	h := newBuiltinEnv(t, asks)
	h.o.Spec.Run.Permissions.Mode = "default"
	over := make(chan struct{})
	h.o.Ask = func(ctx context.Context, q approval.Request) (approval.Answer, error) {
		go func() {
			_, err := approval.Resolve(context.Background(), h.sessions, "s", approval.Answer{RequestID: q.ID, Decision: approval.Allow, Actor: "bob"})
			if err != nil {
				t.Error(err)
			}
		}()
		<-ctx.Done()
		close(over)
		return approval.Answer{}, ctx.Err()
	}
	var by string
	_, res := h.run(t.Context(), h.agent(), "go", func(e event.Event) {
		if e, ok := e.(event.ApprovalResolved); ok {
			by = e.Answer.Actor
		}
	})
	<-over
	if by != "bob" || len(res.Denials) != 0 {
		t.Errorf("answered by %q: %+v", by, res)
	}
}

// An open approval request is asked again by the next process and by the next agent.
func TestBuiltinLeavesApproval(t *testing.T) {
	h := newBuiltinEnv(t, asks)
	h.o.Spec.Run.Permissions.Mode = "default"
	h.o.Ask = func(context.Context, approval.Request) (approval.Answer, error) {
		return approval.Answer{}, approval.ErrSuspend
	}
	a := h.agent()
	var failed error
	for _, err := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
		failed = err
	}
	if !errors.Is(failed, approval.ErrSuspend) {
		t.Fatalf("the run ended with %v", failed)
	}
	if qs := a.Snapshot().Approvals; len(qs) != 1 {
		t.Fatalf("the open questions are %+v", qs)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	h.o.Ask = func(context.Context, approval.Request) (approval.Answer, error) {
		return approval.Answer{Decision: approval.Allow}, nil
	}
	_, res := h.run(t.Context(), h.agent(), "", nil)
	if _, err := os.Stat(filepath.Join(h.dir, "asked.txt")); err != nil || res.Reason != event.ReasonCompleted {
		t.Errorf("%v, %+v", err, res)
	}
}

const long = `
steps:
  - text: I begin.
    tool_uses: [{tool: Bash, input: {command: "echo $$ > pid; exec sleep 300", timeout: 600000}}]
  - expect: {result: unknown}
    text: I know that I do not know.
  - text: Something else.
`

// waitForFile waits for a file that a command creates.
func (h *builtinEnv) waitForFile(name string) {
	h.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if b, err := os.ReadFile(filepath.Join(h.dir, name)); err == nil && len(b) > 0 {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%s does not come", name)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestBuiltinKilled(t *testing.T) {
	h := newBuiltinEnv(t, long)
	a := h.agent()
	_, res := h.run(t.Context(), a, "go", func(e event.Event) {
		if _, ok := e.(event.ToolStarted); ok {
			h.waitForFile("pid")
			_ = syscall.Kill(-h.last().cmd.Process.Pid, syscall.SIGKILL)
		}
	})
	if res.Reason != event.ReasonFailed || res.Err == nil || !strings.Contains(res.Err.Error(), "KILLED") || res.Turn != "turn-1" {
		t.Errorf("the result is %+v", res)
	}
	items := h.items()
	if last := items[len(items)-1]; !strings.Contains(last, "unknown") {
		t.Errorf("the transcript is %q", items)
	}
	h.checkLog()
	_, res = h.run(t.Context(), a, "", nil)
	if res.Reason != event.ReasonCompleted || res.Text != "I know that I do not know." {
		t.Errorf("the next result is %+v", res)
	}
	h.checkLog()
}

// A process whose host is gone ends by itself with everything it runs.
func TestBuiltinHostGone(t *testing.T) {
	h := newBuiltinEnv(t, `
steps:
  - tool_uses: [{tool: Bash, input: {command: "exec 9>held; echo on > pid; exec sleep 300", timeout: 600000}}]
`)
	fifo := filepath.Join(h.dir, "held")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := held.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, res := h.run(t.Context(), h.agent(), "go", func(e event.Event) {
		if _, ok := e.(event.ToolStarted); ok {
			h.waitForFile("pid")
			_ = h.last().channel.Close()
		}
	})
	if res.Reason != event.ReasonFailed || h.last().exit.Signal != "" {
		t.Errorf("the result is %+v, the process ended with %+v", res, h.last().exit)
	}
	if _, err := io.ReadAll(held); err != nil { // ends when no process can write any more
		t.Error(err)
	}
	h.checkLog()
}

func TestBuiltinInterrupted(t *testing.T) {
	for _, how := range []string{"context", "Interrupt", "Close", "break"} {
		t.Run(how, func(t *testing.T) {
			h := newBuiltinEnv(t, long)
			a := h.agent()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var res *event.Result
			for e, err := range a.Run(ctx, transcript.Text{Text: "go"}) {
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := e.(event.ToolStarted); ok {
					h.waitForFile("pid")
					if how == "break" {
						break
					}
					switch how {
					case "context":
						stop()
					case "Interrupt":
						a.Interrupt()
					case "Close":
						go func() { _ = a.Close() }()
					}
				}
				if r, ok := e.(event.Result); ok {
					res = &r
				}
			}
			if how != "break" && (res == nil || res.Reason != event.ReasonInterrupted || res.Err != nil) {
				t.Errorf("the result is %+v", res)
			}
			closed := ""
			for r, err := range h.sessions.Records(t.Context(), "s", session.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Kind == record.KindTurnClosed {
					closed = string(r.Payload)
				}
			}
			if !strings.Contains(closed, `"interrupted"`) {
				t.Errorf("the turn was closed with %s", closed)
			}
			if exit, _ := h.last().Wait(t.Context()); exit.Signal != "" {
				t.Errorf("it had to be killed: %+v", exit)
			}
			h.checkLog()
		})
	}
}

// fullStore is a store that accepts only a number of appends.
type fullStore struct {
	session.Store
	mu   sync.Mutex
	left int
}

func (f *fullStore) Unwrap() session.Store { return f.Store }

func (f *fullStore) Append(ctx context.Context, id string, b session.Batch) error {
	f.mu.Lock()
	f.left--
	none := f.left < 0
	f.mu.Unlock()
	if none {
		return &session.Error{Op: "append", Session: id, Err: session.ErrFull, Hint: "make room"}
	}
	return f.Store.Append(ctx, id, b)
}

// What the store has not accepted does not happen: the command is not run.
func TestBuiltinFullStore(t *testing.T) {
	h := newBuiltinEnv(t, twice)
	f := &fullStore{Store: h.store, left: 2} // opened; turn and input
	h.o.Sessions = session.New(f, nil)
	a := h.agent()
	var failed error
	for _, err := range a.Run(t.Context(), transcript.Text{Text: "do it"}) {
		failed = err
	}
	if !errors.Is(failed, session.ErrFull) || session.Hint(failed) != "make room" {
		t.Errorf("the run ended with %v", failed)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "made.txt")); err == nil {
		t.Error("the command was run")
	}
	f.mu.Lock()
	f.left = 1 << 30
	f.mu.Unlock()
	if _, res := h.run(t.Context(), a, "", nil); res.Reason != event.ReasonCompleted {
		t.Errorf("once there is room: %+v", res)
	}
	h.checkLog()
}

// Input that arrives during a turn is added after the tool round.
func TestBuiltinSubmit(t *testing.T) {
	h := newBuiltinEnv(t, `
steps:
  - tool_uses: [{tool: Bash, input: {command: "echo on > on; until [ -e off ]; do sleep 0.01; done"}}]
  - expect: {user: besides}
    text: I heard.
`)
	a := h.agent()
	_, res := h.run(t.Context(), a, "go", func(e event.Event) {
		if _, ok := e.(event.ToolStarted); ok {
			h.waitForFile("on")
			if err := a.Submit(t.Context(), transcript.Text{Text: "besides, mind the gap"}); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(h.dir, "off"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	if res.Text != "I heard." {
		t.Errorf("%+v", res)
	}
	if err := a.Submit(t.Context(), transcript.Text{Text: "more"}); !errors.Is(err, session.ErrUnsupported) {
		t.Errorf("with no turn under way: %v", err)
	}
}

// If the container cannot be started, no empty session is left.
func TestBuiltinWithoutContainer(t *testing.T) {
	h := newBuiltinEnv(t, "steps: [{text: hello}, {text: again}]")
	h.o.Session.SessionID = ""
	away, released := true, 0
	h.o.Ready = func(context.Context) (func(), error) {
		if away {
			return nil, ErrNoImage
		}
		return func() { released++ }, nil
	}
	a := h.agent()
	for e, err := range a.Run(t.Context(), transcript.Text{Text: "hi"}) {
		if e != nil || !errors.Is(err, ErrNoImage) {
			t.Errorf("%#v, %v", e, err)
		}
	}
	if page, err := h.sessions.List(t.Context(), session.Query{}); err != nil || len(page.Sessions) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	away = false
	for range 2 {
		if _, res := h.run(t.Context(), a, "hi", nil); res.SessionID == "" {
			t.Errorf("%+v", res)
		}
	}
	if released != 1 {
		t.Errorf("released %d times", released)
	}
}
