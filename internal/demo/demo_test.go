package demo

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/files"
	"github.com/holdfast-dev/holdfast/internal/tool/search"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

func sh(t *testing.T, dir, line string) (string, error) {
	t.Helper()
	c := exec.Command("/bin/sh", "-c", line)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestProject(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "almanac")
	if err := Unpack(dir); err != nil {
		t.Fatal(err)
	}
	out, err := sh(t, dir, "sh test.sh")
	if err == nil || strings.Count(out, "ok ") != 7 || strings.Count(out, "FAILED") != 1 {
		t.Errorf("the tests of the project as it is shipped: %v\n%s", err, out)
	}
	if err := Unpack(dir); err == nil {
		t.Error("unpacking over a project was not refused")
	}
}

// The project needs only a shell.
func TestProjectNeedsNoPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Unpack(dir); err != nil {
		t.Fatal(err)
	}
	out, _ := sh(t, dir, "PATH=/nowhere; . ./test.sh")
	if !strings.Contains(out, "7 passed, 1 failed") {
		t.Errorf("without any program on the path:\n%s", out)
	}
}

// demoEnv is an unpacked project and a store; each agent on it is a new process.
type demoEnv struct {
	dir    string
	store  session.Store
	pauses time.Duration // of the model, in total
}

func newDemoEnv(t *testing.T) *demoEnv {
	t.Helper()
	st := &demoEnv{dir: t.TempDir(), store: memory.New()}
	if err := Unpack(st.dir); err != nil {
		t.Fatal(err)
	}
	return st
}

// run resumes the session with a new agent and returns the tool uses that it started and how it ended.
func (s *demoEnv) run(t *testing.T, store session.Store, input ...transcript.Part) (started []string, text string, err error) {
	t.Helper()
	folders, err := workdir.Open(s.dir)
	must(t, err)
	defer folders.Close()
	f, err := files.New(folders, nil)
	must(t, err)
	sr, err := search.New(folders, nil)
	must(t, err)
	b, err := shell.New(folders, nil)
	must(t, err)
	tools, err := tool.NewRegistry(slices.Concat(f.Tools(), sr.Tools(), b.Tools())...)
	must(t, err)
	m, err := scripted.New(Script(), &scripted.Options{Sleep: func(ctx context.Context, d time.Duration) error {
		s.pauses += d
		return ctx.Err()
	}})
	must(t, err)
	a, err := agent.New(m, &agent.Options{
		Sessions:    session.New(store, nil),
		Session:     session.RestoreOptions{SessionID: "demo", Takeover: true, Opened: session.Opened{CWD: s.dir}},
		Tools:       tools,
		Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}},
	})
	must(t, err)
	defer a.Close()
	for ev, err := range a.Run(t.Context(), input...) {
		if err != nil {
			return started, "", err
		}
		switch ev := ev.(type) {
		case event.ToolStarted:
			started = append(started, ev.Use)
		case event.Result:
			if ev.Err != nil {
				return started, ev.Text, ev.Err
			}
			text = ev.Text
		}
	}
	return started, text, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *demoEnv) checkFixed(t *testing.T) {
	t.Helper()
	if out, err := sh(t, s.dir, "sh test.sh"); err != nil {
		t.Errorf("the project is not fixed: %v\n%s", err, out)
	}
}

func TestScriptCompletes(t *testing.T) {
	t.Parallel()
	s := newDemoEnv(t)
	started, text, err := s.run(t, s.store, transcript.Text{Text: Prompt})
	must(t, err)
	if want := []string{"look", "test", "search", "read", "edit", "verify"}; !slices.Equal(started, want) {
		t.Errorf("started %v, want %v", started, want)
	}
	if !strings.Contains(text, "Done: all 8 tests pass") {
		t.Errorf("it ends with: %s", text)
	}
	s.checkFixed(t)
}

// crashingStore is a store that loses a record of KillAtUse and everything after it, as when the process is
// killed during the call or before it.
type crashingStore struct {
	session.Store
	at session.Kind
}

var errKilled = errors.New("killed")

func (d crashingStore) Unwrap() session.Store { return d.Store }

func (d crashingStore) Append(ctx context.Context, id string, b session.Batch) error {
	for _, r := range b.Records {
		if r.Kind == d.at && bytes.Contains(r.Payload, []byte(`"use_id":"`+KillAtUse+`"`)) {
			return errKilled
		}
	}
	return d.Store.Append(ctx, id, b)
}

func TestScriptKilled(t *testing.T) {
	for name, tt := range map[string]struct {
		at   session.Kind
		want []string // tool uses of the second process
	}{
		"during": {record.KindToolFinished, []string{ResumedUse, "verify-again"}},
		"before": {record.KindToolStarted, []string{KillAtUse}}, // the answer was lost with it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newDemoEnv(t)
			if _, _, err := s.run(t, crashingStore{s.store, tt.at}, transcript.Text{Text: Prompt}); !errors.Is(err, errKilled) {
				t.Fatalf("ended with %v", err)
			}
			started, text, err := s.run(t, s.store)
			must(t, err)
			if !slices.Equal(started, tt.want) {
				t.Errorf("the second process started %v, want %v", started, tt.want)
			}
			if !strings.Contains(text, "Done: all 8 tests pass") {
				t.Errorf("the second process printed: %s", text)
			}
			s.checkFixed(t)
		})
	}
}

// The pauses are short enough to watch the whole demo.
func TestPauses(t *testing.T) {
	s := newDemoEnv(t)
	_, _, err := s.run(t, s.store, transcript.Text{Text: Prompt})
	must(t, err)
	if s.pauses == 0 || s.pauses > 4*time.Second {
		t.Errorf("the pauses add up to %v", s.pauses)
	}
	t.Log("the pauses add up to", s.pauses)
}
