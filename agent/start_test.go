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

// The opening events of a session and the events since are emitted to the first listener, once, even if
// the session was opened without a listener.
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
		var reported []event.Event
		for e, err := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.(type) {
			case event.SessionOpened, event.Notice:
				reported = append(reported, e)
			}
			if _, ok := e.(event.TurnStarted); ok && turn == 0 && len(reported) != 2 {
				t.Errorf("the turn starts after the events %v", reported)
			}
		}
		switch {
		case turn == 1 && len(reported) > 0:
			t.Errorf("emitted again: %v", reported)
		case turn == 1:
		case len(reported) != 2:
			t.Errorf("got %v", reported)
		default:
			if o, ok := reported[0].(event.SessionOpened); !ok || o.ID != "one" {
				t.Errorf("the first is %+v", reported[0])
			}
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// A session without a given folder gets the working directory of the process, and a resumed session keeps
// its folder.
func TestSessionFolderDefault(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	s := sessions(t)
	for _, tt := range []struct {
		name string
		o    agent.Options
		want string
	}{
		{"no folder given", agent.Options{}, here},
		{"first folder", agent.Options{Permissions: agent.Permissions{Config: policy.Config{Folders: []string{"/w"}}}}, "/w"},
		{"folder given", agent.Options{Session: session.RestoreOptions{Opened: session.Opened{CWD: "/x"}}}, "/x"},
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
