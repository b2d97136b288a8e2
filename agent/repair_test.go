package agent_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// rewrites is an observer that records TranscriptRewritten events.
type rewrites []event.TranscriptRewritten

func (r *rewrites) Observe(_ string, e event.Event) {
	if m, ok := e.(event.TranscriptRewritten); ok {
		*r = append(*r, m)
	}
}

// cutOff returns a transcript that ends in the middle of a call.
func cutOff() []transcript.Item {
	return []transcript.Item{
		{ID: "u", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "look"}}},
		{ID: "a", Role: transcript.RoleAssistant, Parts: []transcript.Part{use("c1", "Look", `{}`)}},
	}
}

// A host that stores transcripts gets an event if one was repaired or cut at the start, wherever it came
// from, and no event otherwise.
func TestRepairReported(t *testing.T) {
	for name, tt := range map[string]struct {
		options       func(t *testing.T) agent.Options
		before, after int // 0: no event
	}{
		"given": {func(*testing.T) agent.Options { return agent.Options{Transcript: cutOff()} }, 2, 3},
		"sound": {func(*testing.T) agent.Options { return agent.Options{Transcript: cutOff()[:1]} }, 0, 0},
		"session after a kill": {func(t *testing.T) agent.Options {
			s := sessions(t)
			saved(t, s, cutOff())
			return agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one"}}
		}, 2, 3},
		"session with a cut": {func(t *testing.T) agent.Options {
			s := sessions(t)
			saved(t, s, []transcript.Item{cutOff()[0], {ID: "b", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "seen"}}}})
			return agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one", ItemID: "u"}}
		}, 2, 1},
		"a copy of a session": {func(t *testing.T) agent.Options {
			s := sessions(t)
			saved(t, s, cutOff())
			return agent.Options{Sessions: s, NoPersist: true, Session: session.RestoreOptions{SessionID: "one"}}
		}, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var reported rewrites
			o := tt.options(t)
			o.LoopObservers = []agent.LoopObserver{&reported}
			a := newAgent(t, play(t, step{text: "one"}, step{text: "two"}), o)
			prompt(t, a, "go on")
			if tt.before == 0 {
				if len(reported) > 0 {
					t.Errorf("events %+v", reported)
				}
				return
			}
			want := event.TranscriptRewritten{Mutator: "repair", When: "at_start", Before: tt.before, After: tt.after}
			if len(reported) != 1 || reported[0] != want {
				t.Errorf("events %+v, want %+v", reported, want)
			}
		})
	}
}

// saved writes items to session "one" and releases it.
func saved(t *testing.T, s *session.Sessions, items []transcript.Item) {
	t.Helper()
	l, err := s.Create(t.Context(), session.Opened{SessionID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		if _, err := l.Append(t.Context(), session.ItemDraft(it.MustEncode(), false, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
