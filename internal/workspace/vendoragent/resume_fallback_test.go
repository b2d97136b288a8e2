//go:build unix

package vendoragent_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

// transcriptOf returns the path of the file that the stand-in keeps for a session.
func (s *vendorEnv) transcriptOf(id string) string {
	return filepath.Join(s.home, ".claude", "projects", "-work", id+".jsonl")
}

// TestResumeFallbacks tries each reason to start a new session with the history instead of resuming.
func TestResumeFallbacks(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(t *testing.T, s *vendorEnv, file string)
		text   string
		starts int    // of the second turn
		reason string // of the new session
	}{
		{"resumed", func(*testing.T, *vendorEnv, string) {}, "say two", 1, ""},
		{"missing", func(t *testing.T, _ *vendorEnv, file string) { must(t, os.Remove(file)) }, "say two", 1, "missing"},
		{"a link", func(t *testing.T, _ *vendorEnv, file string) {
			must(t, os.Rename(file, file+".real"))
			must(t, os.Symlink(file+".real", file))
		}, "say two", 1, "not a regular file"},
		{"cut short", func(t *testing.T, _ *vendorEnv, file string) {
			b, err := os.ReadFile(file)
			must(t, err)
			must(t, os.WriteFile(file, b[len(b)-len(b)/3:], 0o600))
		}, "say two", 1, "bytes, but had"},
		{"a FIFO", func(t *testing.T, _ *vendorEnv, file string) {
			must(t, os.Remove(file))
			must(t, syscall.Mkfifo(file, 0o600))
		}, "say two", 1, "not a regular file"},
		{"a linked folder", func(t *testing.T, s *vendorEnv, _ string) {
			projects := filepath.Join(s.home, ".claude", "projects")
			must(t, os.Rename(projects, projects+"2"))
			must(t, os.Symlink(projects+"2", projects))
		}, "say two", 1, "not a regular file"},
		{"the vendor refuses", func(_ *testing.T, s *vendorEnv, _ string) {
			s.options.Ready = nil // it vanishes between the check and the start
		}, "say two", 1, ""},
		{"the vendor finds nothing", func(t *testing.T, s *vendorEnv, file string) {
			s.options.Ready = nil
			must(t, os.Remove(file))
		}, "say two", 2, "No conversation found"},
		{"it hangs", func(_ *testing.T, s *vendorEnv, _ string) { s.options.Patience = 3 * time.Second }, "hang-on-resume", 2, "did not start"},
		{"it dies before any output", func(*testing.T, *vendorEnv, string) {}, "die-on-resume", 2, "exit code 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newVendorEnv(t)
			first := s.agent("one", agent.Options{})
			if got := first.turn(t, "say one"); got.err != nil {
				t.Fatal(got.err)
			}
			first.close()
			old := s.mappings("one")[0].Session
			c.spoil(t, s, s.transcriptOf(old))
			a := s.agent("one", agent.Options{})
			got := a.turn(t, c.text)
			if got.res.Reason != event.ReasonCompleted {
				t.Fatalf("%+v", got)
			}
			calls := s.calls()[1:]
			if len(calls) != c.starts {
				t.Fatalf("%d starts: %+v", len(calls), calls)
			}
			last, maps := calls[len(calls)-1], s.mappings("one")
			if c.reason == "" {
				if len(maps) != 1 || !has(last, "--resume") || strings.Contains(last.Text, "<conversation_history>") {
					t.Errorf("mappings %+v, started %+v", maps, last)
				}
				return
			}
			if len(maps) != 2 || maps[1].Session == old || maps[1].Generation != 2 || !strings.Contains(maps[1].Reason, c.reason) {
				t.Errorf("mappings %+v", maps)
			}
			if has(last, "--resume") || !strings.Contains(last.Text, "<conversation_history>") || !strings.Contains(last.Text, "say one") {
				t.Errorf("started %+v", last)
			}
			if log := s.recordWords("one"); !strings.Contains(log, "resume_failed mapped:2") {
				t.Errorf("the log has %s", log)
			}
			if c.name == "a linked folder" {
				return // it still is
			}
			// and the turn after that resumes the new one
			a.close()
			s.options.Patience = 0
			a = s.agent("one", agent.Options{})
			if got := a.turn(t, "say three"); got.res.Reason != event.ReasonCompleted {
				t.Fatalf("%+v", got)
			}
			calls = s.calls()
			if last := calls[len(calls)-1]; !has(last, "--resume") || last.Args[len(last.Args)-1] != maps[1].Session || len(s.mappings("one")) != 2 {
				t.Errorf("started %+v", last)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A turn that has produced output or run a tool is never run again; a second failure is reported.
func TestNoRetryAfterOutput(t *testing.T) {
	for _, c := range []struct {
		name, text string
		starts     int
		message    string
		log        string
	}{
		{"after a tool ran", "die-in echo ran >> effects", 1, "exit code 5", "user assistant(1) decision:allow tool.started tool.finished tool vendor_ended closed:failed"},
		{"in the middle of a text", "die-saying half a", 1, "exit code 4", "user vendor_ended model.called assistant closed:failed"},
		{"when the second way fails too", "die", 2, "exit code 3 during the turn; its last output: boom", "user resume_failed mapped:2 vendor_ended closed:failed"},
		{"when it reports that the model failed", "refuse overloaded", 1, "overloaded", "user closed:failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newVendorEnv(t)
			a := s.agent("one", allowing())
			a.turn(t, "say one")
			got := a.turn(t, c.text)
			if got.res.Reason != event.ReasonFailed || got.res.Err == nil || !strings.Contains(got.res.Err.Error(), c.message) {
				t.Fatalf("%+v", got.res)
			}
			if starts := len(s.calls()) - 1; starts != c.starts {
				t.Errorf("%d starts", starts)
			}
			if log := s.recordWords("one"); !strings.HasSuffix(log, "turn.opened "+c.log) {
				t.Errorf("the log has %s", log)
			}
			if b, _ := os.ReadFile(filepath.Join(s.project, "effects")); len(b) > 0 && string(b) != "ran\n" {
				t.Errorf("effects: %q", b)
			}
			if err := transcript.Validate(a.Snapshot().Items); err != nil {
				t.Error(err)
			}
			if got := a.turn(t, "say on"); got.res.Reason != event.ReasonCompleted {
				t.Errorf("the next turn: %+v", got.res)
			}
		})
	}
}

func TestOutOfMemory(t *testing.T) {
	s := newVendorEnv(t)
	s.oom = true
	got := s.agent("one", agent.Options{}).turn(t, "die-saying half")
	if got.res.Reason != event.ReasonFailed || !strings.Contains(got.res.Err.Error(), "ran out of memory") {
		t.Errorf("%+v", got.res)
	}
}

// A failed start is reported with its reason, and the next turn works.
func TestNotStarted(t *testing.T) {
	s := newVendorEnv(t)
	s.fail = errors.New("there is no engine for containers")
	a := s.agent("one", agent.Options{})
	got := a.turn(t, "say one")
	if got.res.Reason != event.ReasonFailed || !errors.Is(got.res.Err, s.fail) {
		t.Fatalf("%+v", got)
	}
	s.fail = nil
	if got := a.turn(t, "say two"); got.res.Reason != event.ReasonCompleted {
		t.Fatalf("%+v", got)
	}
	if text := s.calls()[0].Text; !strings.Contains(text, "say one") || !strings.HasSuffix(text, "say two") {
		t.Errorf("sent %q", text)
	}
}

func TestInterrupt(t *testing.T) {
	s := newVendorEnv(t)
	a := s.agent("one", agent.Options{})
	a.turn(t, "say one")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var got turn
	for e, err := range a.Run(ctx, transcript.Text{Text: "wait"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case event.TextDelta:
			stop()
		case event.Result:
			got.res = e
		}
	}
	if got.res.Reason != event.ReasonInterrupted || got.res.Text != "working" {
		t.Fatalf("%+v", got.res)
	}
	for _, p := range s.started {
		select {
		case <-p.done:
		default:
			t.Error("a process still runs")
		}
	}
	if log := s.recordWords("one"); !strings.HasSuffix(log, "user model.called assistant closed:interrupted") {
		t.Errorf("the log has %s", log)
	}
	if got := a.turn(t, "say two"); got.res.Reason != event.ReasonCompleted {
		t.Fatalf("%+v", got)
	}
	if calls := s.calls(); !has(calls[2], "--resume") {
		t.Errorf("started %+v", calls[2])
	}
}

// After an interrupt during a tool call, the tool result says that the outcome is unknown.
func TestInterruptedTool(t *testing.T) {
	s := newVendorEnv(t)
	a := s.agent("one", allowing())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(s.project, "it")); err == nil {
				stop()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	got := a.turnIn(ctx, "run touch it; sleep 60")
	if got.res.Reason != event.ReasonInterrupted || !strings.Contains(results(t, a), "may have taken effect") {
		t.Errorf("%+v, %s", got.res, results(t, a))
	}
	if got := a.turn(t, "say two"); got.res.Reason != event.ReasonCompleted {
		t.Fatalf("%+v", got)
	}
}

// Input that arrives while the vendor agent works is sent to it afterwards.
func TestSteering(t *testing.T) {
	s := newVendorEnv(t)
	a := s.agent("one", allowing())
	submitted := false
	var res event.Result
	for e, err := range a.Run(t.Context(), transcript.Text{Text: "run echo hi"}) {
		must(t, err)
		switch e := e.(type) {
		case event.ToolStarted:
			if !submitted {
				submitted = true
				must(t, a.Submit(t.Context(), transcript.Text{Text: "say besides"}))
			}
		case event.Result:
			res = e
		}
	}
	if res.Reason != event.ReasonCompleted || res.Text != "done\nbesides" {
		t.Errorf("%+v", res)
	}
	if calls := s.calls(); len(calls) != 2 || calls[1].Text != "say besides" || !has(calls[1], "--resume") {
		t.Errorf("started %+v", calls)
	}
}

// If the transcript contains items that the vendor's session lacks, that session is not resumed.
func TestUnknownItemsPreventResume(t *testing.T) {
	t.Run("a rewrite", func(t *testing.T) {
		s := newVendorEnv(t)
		first := s.agent("one", agent.Options{})
		first.turn(t, "say one")
		first.turn(t, "say two")
		at := first.Snapshot().Items[1].ID()
		first.close()
		again := s.agent("one", agent.Options{Session: session.RestoreOptions{ItemID: at}})
		if got := again.turn(t, "say three"); got.res.Reason != event.ReasonCompleted {
			t.Fatalf("%+v", got)
		}
		last := s.calls()[2]
		if has(last, "--resume") || strings.Contains(last.Text, "say two") || !strings.Contains(last.Text, "say one") {
			t.Errorf("started %+v", last)
		}
	})
	t.Run("a fork", func(t *testing.T) {
		s := newVendorEnv(t)
		first := s.agent("one", agent.Options{})
		first.turn(t, "say one")
		first.close()
		fork := s.agent("one", agent.Options{Session: session.RestoreOptions{Fork: true, ForkID: "two"}})
		if got := fork.turn(t, "say two"); got.res.Reason != event.ReasonCompleted {
			t.Fatalf("%+v", got)
		}
		if last := s.calls()[1]; has(last, "--resume") || !strings.Contains(last.Text, "say one") {
			t.Errorf("started %+v", last)
		}
	})
	t.Run("a session from before", func(t *testing.T) {
		s := newVendorEnv(t)
		items := []transcript.Item{transcript.UserText("what was"), {Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "this was"}}}}
		must(t, s.sessions.Save(t.Context(), "old", items, nil))
		a := s.agent("old", agent.Options{})
		a.turn(t, "say now")
		a.turn(t, "say then")
		calls := s.calls()
		if !strings.Contains(calls[0].Text, "this was") || !has(calls[1], "--resume") || calls[1].Text != "say then" {
			t.Errorf("started %+v", calls)
		}
	})
	t.Run("ephemeral", func(t *testing.T) {
		s := newVendorEnv(t)
		s.options.Ephemeral = true
		a := s.agent("one", agent.Options{})
		a.turn(t, "say one")
		a.turn(t, "say two")
		if last := s.calls()[1]; has(last, "--resume") || !strings.Contains(last.Text, "say one") {
			t.Errorf("started %+v", last)
		}
	})
}

// killedHost is a process that is killed during a turn.
func killedHost() {
	dir := os.Getenv("HOLDFAST_TEST_HOST")
	store, err := sqlite.Open(filepath.Join(dir, "s.db"), nil)
	if err != nil {
		panic(err)
	}
	t := &testing.T{}
	s := vendorEnvIn(t, dir, session.New(store, nil))
	s.agent("one", allowing()).turnIn(context.Background(), "run echo $$ > pid; sleep 600")
}

// After kill -9 of the host during a tool call, the next turn knows that the outcome is unknown.
func TestKilledHost(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "HOLDFAST_TEST_HOST="+dir)
	must(t, cmd.Start())
	pidFile := filepath.Join(dir, "project", "pid")
	for {
		if b, err := os.ReadFile(pidFile); err == nil && len(b) > 1 {
			break
		}
		if cmd.ProcessState != nil || t.Context().Err() != nil {
			t.Fatal("the host did not get so far")
		}
		time.Sleep(time.Millisecond)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	store, err := sqlite.Open(filepath.Join(dir, "s.db"), nil)
	must(t, err)
	defer store.Close()
	s := vendorEnvIn(t, dir, session.New(store, nil))
	killGroupOf(t, pidFile) // as the supervisor does when its host is gone
	a := s.agent("one", allowing())
	got := a.turn(t, "say on")
	if got.res.Reason != event.ReasonCompleted || !strings.Contains(results(t, a), "unknown") {
		t.Errorf("%+v; %s", got.res, results(t, a))
	}
	if last := s.calls()[1]; !has(last, "--resume") {
		t.Errorf("started %+v", last)
	}
}

func killGroupOf(t *testing.T, pidFile string) {
	t.Helper()
	out, err := exec.Command("sh", "-c", "ps -o pgid= -p $(cat "+pidFile+")").Output()
	must(t, err)
	must(t, exec.Command("kill", "-9", "--", "-"+strings.TrimSpace(string(out))).Run())
}
