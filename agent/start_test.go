package agent_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// What was found when a session was opened, and what was said meanwhile, is told to who
// listens first, and once, also when the session was opened before with nobody listening.
func TestOpeningWaitsForListener(t *testing.T) {
	a := newAgent(t, play(t, step{text: "ok"}, step{text: "ok"}), agent.Options{
		Sessions: session.New(memory.New(), nil), Session: session.RestoreOptions{SessionID: "one"},
	})
	a.Notice("a server did not come up")
	opened, err := a.Start(t.Context())
	if err != nil || opened.ID != "one" || !opened.Created || opened.Tools == nil {
		t.Fatalf("%+v, %v", opened, err)
	}
	for turn := range 2 {
		var told []event.Event
		for e, err := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.(type) {
			case event.SessionOpened, event.Notice:
				told = append(told, e)
			}
			if _, ok := e.(event.TurnStarted); ok && turn == 0 && len(told) != 2 {
				t.Errorf("the turn begins when %v is told", told)
			}
		}
		switch {
		case turn == 1 && len(told) > 0:
			t.Errorf("told again: %v", told)
		case turn == 1:
		case len(told) != 2:
			t.Errorf("told %v", told)
		default:
			if o, ok := told[0].(event.SessionOpened); !ok || o.ID != "one" {
				t.Errorf("the first is %+v", told[0])
			}
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// A session that nobody gave a folder is one of the folder that the program works in, and one
// that was continued stays where it was.
func TestASessionIsOfTheProcessFolder(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	s := sessions(t)
	for _, tt := range []struct {
		name string
		o    agent.Options
		want string
	}{
		{"nobody says", agent.Options{}, here},
		{"its folders say", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Folders: []string{"/w"}}}}, "/w"},
		{"it says", agent.Options{Session: session.RestoreOptions{Opened: session.Opened{CWD: "/x"}}}, "/x"},
	} {
		tt.o.Sessions = s
		a := newAgent(t, play(t, step{text: "x"}), tt.o)
		res := prompt(t, a, "go")
		m, err := s.Get(t.Context(), res.SessionID)
		if err != nil || m.CWD != tt.want {
			t.Errorf("%s: in %q, want %q, %v", tt.name, m.CWD, tt.want, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Chdir(t.TempDir())
	a := newAgent(t, play(t, step{text: "x"}), agent.Options{Sessions: s, Session: session.RestoreOptions{ContinueRecent: true}})
	res := prompt(t, a, "go")
	if m, err := s.Get(t.Context(), res.SessionID); err != nil || m.MessageCount != 4 {
		t.Errorf("not continued: %+v, %v", m, err)
	}
}
