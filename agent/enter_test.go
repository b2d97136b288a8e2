package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// A session starts in the directory of EnterDir and resumes there, even if no call changed the directory.
func TestSessionStartDir(t *testing.T) {
	s := session.New(memory.New(), nil)
	open := session.RestoreOptions{SessionID: "one", Opened: session.Opened{CWD: "/p"}}
	m := play(t, step{text: "ok"})
	a := newAgent(t, m, agent.Options{Sessions: s, Session: open, EnterDir: func(ctx context.Context) (string, string, error) {
		if of := agent.FromContext(ctx); of == nil || of.SessionID() != "one" {
			t.Errorf("of %v", of)
		}
		return "/p/side", "You are in /p/side.", nil
	}})
	prompt(t, a, "go")
	reported := false
	for _, e := range a.Snapshot().Items {
		reported = reported || strings.Contains(string(e.JSON), "You are in /p/side.")
	}
	if err := a.Close(); err != nil || !reported {
		t.Errorf("got %v, %v", reported, err)
	}
	back := ""
	b := newAgent(t, play(t, step{text: "ok"}, step{text: "ok"}), agent.Options{Sessions: s, Session: open, RestoreDir: func(dir string) error { back = dir; return nil }})
	prompt(t, b, "go on")
	if err := b.Close(); err != nil || back != "/p/side" {
		t.Errorf("it resumes in %q: %v", back, err)
	}
	no := errors.New("no place")
	c := newAgent(t, play(t), agent.Options{EnterDir: func(context.Context) (string, string, error) { return "", "", no }})
	if _, err := c.Prompt(t.Context(), "go"); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	_ = c.Close()
}

// If a session cannot return to its directory, this is reported once, and it continues in the other
// directory.
func TestResumeRestoresDir(t *testing.T) {
	s := session.New(memory.New(), nil)
	open := session.RestoreOptions{SessionID: "one", Opened: session.Opened{CWD: "/p"}}
	var back []string
	for _, o := range []agent.Options{
		{EnterDir: func(context.Context) (string, string, error) { return "/p/side", "", nil }},
		{RestoreDir: func(string) error { return errors.New("it is gone") }},
		{RestoreDir: func(dir string) error { back = append(back, dir); return nil }},
	} {
		o.Sessions, o.Session = s, open
		a := newAgent(t, play(t, step{text: "ok"}), o)
		prompt(t, a, "go on")
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(back) != 0 {
		t.Errorf("it resumes in %q", back)
	}
}

func TestKindMissingSetup(t *testing.T) {
	for _, d := range []agent.Definition{
		{Name: "a", Description: "d", Isolation: true}, {Name: "a", Description: "d", Skills: []string{"commit"}},
	} {
		if _, err := agent.NewSubagents(&agent.SubagentOptions{Definitions: []agent.Definition{d}}); err == nil {
			t.Errorf("%+v is taken", d)
		}
	}
}
