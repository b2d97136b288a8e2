//go:build unix

package chat

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
	"github.com/holdfast-dev/holdfast/policy"
)

const script = `steps:
  - {when: {after: second}, text: the third}
  - {name: second, when: {user: more}, text: the second}
  - {when: {user: command}, tool_uses: [{id: u1, tool: Bash, input: {command: touch made}}]}
  - {text: the first}
`

// desk is a folder with a home and a scripted model.
type desk struct {
	t    *testing.T
	dir  string
	p    *command.Program
	home string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &desk{t: t, dir: dir, home: filepath.Join(dir, "home")}
	if err := os.WriteFile(filepath.Join(dir, "play.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	d.p = &command.Program{
		Env:   []string{"HOLDFAST_HOME=" + d.home, "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "HOLDFAST_MODEL=scripted/" + dir + "/play.yaml"},
		Getwd: func() (string, error) { return dir, nil },
	}
	d.p.SetDefaults()
	return d
}

// open opens a conversation.
func (d *desk) open(start Start) (*Session, error) {
	d.t.Helper()
	if start.Run == nil {
		start.Run = &flags.RunFlags{}
	}
	return Open(d.t.Context(), d.p, &start)
}

// here opens a conversation with a server in this process.
func (d *desk) here(r *flags.RunFlags, attach bool) *Session {
	d.t.Helper()
	if r == nil {
		r = &flags.RunFlags{}
	}
	r.NoDaemon = true
	s, err := d.open(Start{Run: r, Attach: attach})
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *desk) close(s *Session) {
	d.t.Helper()
	if err := s.Close(); err != nil {
		d.t.Error(err)
	}
}

func (d *desk) send(s *Session, text string) {
	d.t.Helper()
	if err := s.Send(d.t.Context(), text); err != nil {
		d.t.Fatalf("%s: %v", text, err)
	}
}

// until reads the events of the session up to the first one that found accepts.
func (d *desk) until(s *Session, what string, found func(*client.Event) bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	for e, err := range s.Events(ctx) {
		if err != nil {
			d.t.Fatalf("%s: %v", what, err)
		}
		if found(e) {
			return
		}
	}
	d.t.Fatalf("%s: the events ended", what)
}

// answer waits until the model has said a text.
func (d *desk) answer(s *Session, text string) {
	d.t.Helper()
	d.until(s, text, func(e *client.Event) bool {
		for _, l := range e.Events {
			if r, ok := l.(event.Result); ok && r.Text == text {
				return true
			}
		}
		return false
	})
}

// asked waits until the run asks.
func (d *desk) asked(s *Session) (q approval.Request) {
	d.t.Helper()
	d.until(s, "a question", func(e *client.Event) bool {
		for _, l := range e.Events {
			if r, ok := l.(event.ApprovalAsked); ok {
				q = r.Request
				return true
			}
		}
		return false
	})
	return q
}

func (d *desk) made() bool {
	_, err := os.Stat(filepath.Join(d.dir, "made"))
	return err == nil
}

func TestSession(t *testing.T) {
	d := newDesk(t)
	s := d.here(nil, false)
	defer d.close(s)
	ctx := t.Context()
	if a := s.About(); s.ID() != "" || a.Daemon || !strings.HasPrefix(a.Model, "scripted/") || a.Mode != policy.ModeDefault {
		t.Errorf("%q: %+v", s.ID(), a)
	}
	d.send(s, "hello")
	d.answer(s, "the first")
	if err := s.SetMode(ctx, policy.ModePlan); err != nil {
		t.Fatal(err)
	}
	d.p.Env = append(d.p.Env, "LATER=1") // as a key that the daemon does not have
	d.send(s, "more")
	d.answer(s, "the second")
	if spec, err := s.recordedSpec(ctx, s.ID()); err != nil || !slices.Contains(spec.Environment.Variables, "LATER") {
		t.Errorf("the run continued without the environment of this process: %q, %v", spec.Environment.Variables, err)
	}
	if info, err := s.Client().Run(ctx, s.ID()); err != nil || info.Mode != string(policy.ModePlan) {
		t.Errorf("%+v: %v", info, err)
	}
	if err := s.Rename(ctx, "a walk"); err != nil {
		t.Fatal(err)
	}
	if page, err := s.List(ctx, client.ListOptions{}); err != nil || len(page.Items) != 1 || page.Items[0].Title != "a walk" {
		t.Errorf("%+v: %v", page, err)
	}
	plan, err := s.Rewind(ctx, api.Rewind{Target: "turn:-1", Transcript: true})
	if err != nil || plan.Digest == "" || plan.Done != nil {
		t.Fatalf("%+v: %v", plan, err)
	}
	if plan, err = s.Rewind(ctx, api.Rewind{Target: "turn:-1", Transcript: true, Digest: plan.Digest}); err != nil || plan.Done == nil {
		t.Errorf("%+v: %v", plan, err)
	}
	before := s.ID()
	made, err := s.Fork(ctx, api.Fork{Title: "another walk"})
	if err != nil || s.ID() != before {
		t.Fatalf("%+v: %v", made, err)
	}
	if err := s.Join(ctx, made.ID); err != nil || s.ID() != made.ID || s.About().Title != "another walk" {
		t.Errorf("%+v: %v", s.About(), err)
	}
	d.send(s, "more")
	d.answer(s, "the second")
	if err := s.Interrupt(ctx); err != nil {
		t.Errorf("what has ended is interrupted: %v", err)
	}
}

// A message to a run that waits is queued, and the conversation can be left and attached.
func TestSessionQueuesAndAttaches(t *testing.T) {
	d := newDesk(t)
	if _, err := d.open(Start{Run: &flags.RunFlags{NoDaemon: true}, Attach: true}); outcome.FromError(err) != outcome.NotFound {
		t.Errorf("nothing to attach: %v", err)
	}
	s := d.here(nil, false)
	d.send(s, "command")
	q := d.asked(s)
	back, err := s.Client().SteerRun(t.Context(), s.ID(), "take this back")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := s.Withdraw(t.Context(), back.SteeringID); (err == nil) != (i == 0) {
			t.Errorf("withdrawn %d times: %v", i+1, err)
		}
	}
	d.send(s, "more")
	d.close(s) // as when the terminal closes without a daemon

	s = d.here(nil, true)
	defer func() { d.close(s) }()
	if a := s.About(); a.Title != "command" || a.Head == 0 {
		t.Errorf("%+v", a)
	}
	if again := d.asked(s); again.ID != q.ID {
		t.Errorf("it asks %s, before %s", again.ID, q.ID)
	}
	if _, err := s.Answer(t.Context(), &q, approval.Answer{Decision: approval.Allow}); err != nil {
		t.Fatal(err)
	}
	d.answer(s, "the second") // the queued message was not lost
	if !d.made() {
		t.Error("the command did not run")
	}
	if _, err := s.Answer(t.Context(), &q, approval.Answer{Decision: approval.Deny}); !errors.Is(err, approval.ErrAnswered) {
		t.Errorf("a second answer: %v", err)
	}
}

// The flags choose the session as those of run do.
func TestSessionFlags(t *testing.T) {
	d := newDesk(t)
	if _, err := d.open(Start{Run: &flags.RunFlags{NoDaemon: true, Continue: true, ForkSession: true}}); err == nil {
		t.Error("there is no session to fork")
	}
	s := d.here(&flags.RunFlags{Continue: true}, false)
	if s.ID() != "" {
		t.Errorf("there was no session, and %s is continued", s.ID())
	}
	d.close(s)
	s = d.here(&flags.RunFlags{SessionID: "mine", Name: "first"}, false)
	d.send(s, "hello")
	d.answer(s, "the first")
	d.close(s)
	s = d.here(&flags.RunFlags{Continue: true, Name: "renamed"}, false)
	if s.ID() != "mine" || s.About().Title != "renamed" {
		t.Errorf("%s: %+v", s.ID(), s.About())
	}
	d.send(s, "more")
	d.answer(s, "the second")
	d.close(s)
	s = d.here(&flags.RunFlags{Resume: "renamed", ForkSession: true}, false)
	if s.ID() == "mine" || s.ID() == "" {
		t.Errorf("the fork is %q", s.ID())
	}
	d.close(s)
	s = d.here(&flags.RunFlags{Resume: "mine"}, true)
	if s.ID() != "mine" {
		t.Errorf("attached to %q", s.ID())
	}
	d.close(s)
}

// When the daemon is killed, the events continue with a new one, and nothing is lost.
func TestSessionDaemonKilled(t *testing.T) {
	d := newDesk(t)
	program := testprogram.Path(t) // built before the daemon has to start in time
	d.p.Executable = func() (string, error) { return program, nil }
	s, err := d.open(Start{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		d.close(s)
		if info, running, _ := listen.State(d.home); running {
			_ = syscall.Kill(info.PID, syscall.SIGTERM)
		}
	}()
	if !s.About().Daemon {
		t.Fatalf("no daemon: %+v", s.About())
	}
	d.send(s, "command")
	q := d.asked(s)
	d.send(s, "more")
	first := s.Client().Info().PID
	lost := false
	d.until(s, "the interrupted run", func(e *client.Event) bool {
		if e.CaughtUp && !lost {
			_ = syscall.Kill(first, syscall.SIGKILL)
		}
		lost = lost || e.Lost
		return lost && e.CaughtUp && e.Status.Ended()
	})
	if info, running, err := listen.State(d.home); err != nil || !running || info.PID == first {
		t.Errorf("%+v, %t: %v", info, running, err)
	}
	if d.made() {
		t.Error("the command ran without an answer")
	}
	if _, err := s.Answer(t.Context(), &q, approval.Answer{Decision: approval.Allow}); err != nil {
		t.Fatal(err)
	}
	d.answer(s, "the second")
	if !d.made() {
		t.Error("the command did not run after the answer")
	}
}

// A daemon that ends when it is not used stays while a run waits for an answer, without any client.
func TestSessionKeepsDaemon(t *testing.T) {
	d := newDesk(t)
	cmd := exec.Command(testprogram.Path(t), "daemon", "--exit-idle=200ms", "--log-file="+filepath.Join(d.dir, "log"))
	cmd.Env = d.p.Env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	d.p.Executable = func() (string, error) { return "/nowhere", errors.New("another daemon is started") }
	var s *Session
	for s == nil || !s.About().Daemon { // until it serves
		if s != nil {
			d.close(s)
		}
		var err error
		if s, err = d.open(Start{}); err != nil {
			t.Fatal(err)
		}
	}
	d.send(s, "command")
	q := d.asked(s)
	d.close(s)
	select {
	case err := <-ended:
		t.Fatalf("the daemon has left the run alone: %v", err)
	case <-time.After(time.Second): // five times the time without use
	}
	s, err := d.open(Start{Attach: true})
	if err != nil || !s.About().Daemon {
		t.Fatalf("%+v: %v", s, err)
	}
	if _, err := s.Answer(t.Context(), &q, approval.Answer{Decision: approval.Deny}); err != nil {
		t.Error(err)
	}
	d.answer(s, "the first")
	d.close(s)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the daemon does not end")
	}
}

// Events that begin in the middle of an answer have all of its text.
func TestSessionJoinsInAnAnswer(t *testing.T) {
	d := newDesk(t)
	play := "chunk: 6\ndelay: {chunk: 1h}\nsteps:\n  - text: \"Hello from the model\"\n"
	if err := os.WriteFile(filepath.Join(d.dir, "play.yaml"), []byte(play), 0o600); err != nil {
		t.Fatal(err)
	}
	s := d.here(nil, false)
	defer d.close(s)
	d.send(s, "hi")
	for range 2 {
		text := ""
		d.until(s, "the text so far", func(e *client.Event) bool {
			for _, l := range e.Events {
				if delta, ok := l.(event.TextDelta); ok {
					text += delta.Text
				}
			}
			return text == "Hello "
		})
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Error(err)
	}
}

// The session of a `holdfast run` that was killed is found, and does not seem to work.
func TestAttachAfterKill(t *testing.T) {
	d := newDesk(t)
	play := "steps:\n  - tool_uses: [{id: u1, tool: Bash, input: {command: touch made; exec sleep 100}}]\n"
	if err := os.WriteFile(filepath.Join(d.dir, "play.yaml"), []byte(play), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testprogram.Path(t), "run", "--no-daemon", "--no-sandbox", "--permission-mode", "bypassPermissions", "go")
	cmd.Dir, cmd.Env, cmd.SysProcAttr = d.dir, d.p.Env, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for !d.made() { // another process cannot signal that its command runs, so this polls
		time.Sleep(5 * time.Millisecond)
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()

	x := talkIn(t, d.dir, d.dir, filepath.Join(d.dir, "play.yaml"), func(s *Start) {
		s.Attach = true
		s.Run = &flags.RunFlags{NoDaemon: true, StoreFlags: command.StoreFlags{Store: "sqlite:" + filepath.Join(d.home, "sessions.db")}}
		s.Run.CWD = d.dir
	})
	s := x.until("the process of this run has ended")
	if st := x.u.conv.State(); st.Working || len(st.Calls) > 0 || !strings.Contains(s, "Bash") {
		t.Errorf("working: %t, %d calls\n%s", st.Working, len(st.Calls), s)
	}
}
