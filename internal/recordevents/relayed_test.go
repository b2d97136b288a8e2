package recordevents

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

func form(t testing.TB, e event.Event) string {
	t.Helper()
	b, err := event.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Events and approval requests of a sub-agent are SubagentEvents, nested for its own sub-agents. Their seqs
// are those of the sub-agent's log; its approval requests are in the run's log. An agent of a strategy is
// not a sub-agent.
func TestRelayed(t *testing.T) {
	var s Reader
	var got []string
	for _, of := range []struct {
		session, agent string
		session.Record
	}{
		{"sub", "scout", session.Record{Kind: record.KindOpened, Payload: json.RawMessage(`{"format":1,"session_id":"sub","owner":"s","caller":"s","use":"d1"}`)}},
		{"sub", "scout", session.Record{Kind: record.KindTurnOpened, Payload: json.RawMessage(`{"turn":"turn-1"}`)}},
		{"sub", "scout", session.Record{Kind: session.KindItem, Seq: 3, Payload: json.RawMessage(`{"item":{"role":"user","id":"i","parts":[]}}`)}},
		{"deep", "digger", session.Record{Kind: record.KindOpened, Payload: json.RawMessage(`{"format":1,"session_id":"deep","owner":"s","caller":"sub","use":"d2"}`)}},
		{"deep", "digger", session.Record{Kind: record.KindToolStarted, Payload: json.RawMessage(`{"use_id":"u1","tool":"Bash"}`)}},
		{"", "", session.Record{Kind: record.KindApprovalAsked, Payload: json.RawMessage(`{"id":"q1","tool":"Bash","agent":"scout","asker":"sub"}`)}},
		{"", "", session.Record{Kind: record.KindApprovalAsked, Payload: json.RawMessage(`{"id":"q2","tool":"Bash"}`)}},
		{"s.writer", "writer", session.Record{Kind: record.KindOpened, Payload: json.RawMessage(`{"format":1,"session_id":"s.writer","owner":"s"}`)}},
		{"s.writer", "writer", session.Record{Kind: record.KindTurnOpened, Payload: json.RawMessage(`{"turn":"turn-1"}`)}},
	} {
		list, err := s.Events(of.Record)
		if of.session != "" {
			list, err = s.Relayed(of.session, of.agent, of.Record)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if sub, ok := e.(event.SubagentEvent); ok {
				if it, ok := sub.Event.(event.ItemAppended); ok {
					sub.Event = event.ItemAppended{Seq: it.Seq}
					e = sub
				}
			}
			got = append(got, form(t, e))
		}
	}
	scout := func(e event.Event) event.Event {
		return event.SubagentEvent{Use: "d1", Session: "sub", Name: "scout", Event: e}
	}
	var want []string
	for _, e := range []event.Event{
		scout(event.TurnStarted{Turn: "turn-1"}),
		scout(event.ItemAppended{Seq: 3}),
		scout(event.SubagentEvent{Use: "d2", Session: "deep", Name: "digger", Event: event.ToolStarted{Use: "u1", Tool: "Bash"}}),
		scout(event.ApprovalAsked{Request: approval.Request{ID: "q1", Tool: "Bash", Agent: "scout", Asker: "sub"}}),
		event.ApprovalAsked{Request: approval.Request{ID: "q2", Tool: "Bash"}},
		event.TurnStarted{Turn: "turn-1"},
	} {
		want = append(want, form(t, e))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if _, err := s.Relayed("other", "o", session.Record{Seq: 7, Kind: record.KindOpened, Payload: json.RawMessage(`[]`)}); err == nil {
		t.Error("an opening that cannot be read passes")
	}
}

// The daemon's start and end records give the events of its agent. Records of versions without these
// events give the events that they have.
func TestRunEvents(t *testing.T) {
	for payload, want := range map[string][]string{
		`{"event":"started","opened":{"type":"session_opened","id":"s","created":true,"notices":["n"]}}`: {`{"type":"session_opened","id":"s","created":true,"notices":["n"]}`},
		`{"event":"started"}`:                {},
		`{"event":"opened","notices":["n"]}`: {`{"type":"notice","text":"n"}`},
		`{"event":"completed","text":"done","result":{"type":"result","id":"s","reason":"completed","turns":2}}`: {
			`{"type":"result","id":"s","reason":"completed","text":"done","turns":2,"usage":{"input":0,"output":0}}`,
		},
		`{"event":"failed","message":"no"}`: {},
	} {
		list, err := new(Reader).Events(session.Record{Kind: record.KindRunEvent, Payload: json.RawMessage(payload)})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, e := range list {
			got = append(got, form(t, e))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s\nwant %s", payload, got, want)
		}
	}
	var s Reader
	for i, payload := range []string{`{"event":"started","opened":{"type":"session_opened","id":"s","notices":["n"]}}`, `{"event":"opened","notices":["n"]}`} {
		list, err := s.Events(session.Record{Kind: record.KindRunEvent, Payload: json.RawMessage(payload)})
		if err != nil || len(list) != 1-i {
			t.Errorf("%s: %v, %v", payload, list, err)
		}
	}
	for _, payload := range []string{`[]`, `{"event":"started","opened":{"type":"later"}}`, `{"result":5}`} {
		if _, err := new(Reader).Events(session.Record{Seq: 7, Kind: record.KindRunEvent, Payload: json.RawMessage(payload)}); err == nil {
			t.Errorf("%s passes", payload)
		}
	}
}
