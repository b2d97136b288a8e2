package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/session"
)

// What a sub-agent of a run in the daemon does and asks is told as its own, and what one of its
// own does as that one's in it. The numbers of records are those of its log. Its question is in
// the run's log.
func TestRemoteSubagent(t *testing.T) {
	f := newRemoteEvents("s", "", nil)
	f.opened = true
	var all []event.Event
	for _, r := range []api.Record{
		{Session: "sub", Agent: "scout", Kind: session.KindOpened, Payload: json.RawMessage(`{"format":1,"session_id":"sub","owner":"s","caller":"s","use":"d1"}`)},
		{Session: "sub", Agent: "scout", Kind: session.KindTurnOpened, Payload: json.RawMessage(`{"turn":"turn-1"}`)},
		{Session: "sub", Agent: "scout", Kind: session.KindItem, Seq: 9, Origin: 3, Payload: json.RawMessage(`{"item":{"role":"user","id":"i","parts":[]}}`)},
		{Session: "deep", Agent: "digger", Kind: session.KindOpened, Payload: json.RawMessage(`{"format":1,"session_id":"deep","owner":"s","caller":"sub","use":"d2"}`)},
		{Session: "deep", Agent: "digger", Kind: session.KindToolStarted, Payload: json.RawMessage(`{"use_id":"u1","tool":"Bash"}`)},
		{Kind: session.KindApprovalAsked, Payload: json.RawMessage(`{"id":"q1","tool":"Bash","agent":"scout","asker":"sub"}`)},
		{Kind: session.KindApprovalAsked, Payload: json.RawMessage(`{"id":"q2","tool":"Bash"}`)},
	} {
		list, err := f.take(&client.Event{Kind: client.EventRecord, Record: &r})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if sub, ok := e.(event.SubagentEvent); ok {
				if it, ok := sub.Event.(event.ItemAppended); ok && it.Seq == 3 {
					sub.Event = event.ItemAppended{Seq: it.Seq}
					e = sub
				}
			}
			all = append(all, e)
		}
	}
	scout := func(e event.Event) event.Event {
		return event.SubagentEvent{Use: "d1", Session: "sub", Name: "scout", Event: e}
	}
	want := []event.Event{
		scout(event.TurnStarted{Turn: "turn-1"}),
		scout(event.ItemAppended{Seq: 3}),
		scout(event.SubagentEvent{Use: "d2", Session: "deep", Name: "digger", Event: event.ToolStarted{Use: "u1", Tool: "Bash"}}),
		scout(event.ApprovalAsked{Question: approval.Question{ID: "q1", Tool: "Bash", Agent: "scout", Asker: "sub"}}),
		event.ApprovalAsked{Question: approval.Question{ID: "q2", Tool: "Bash"}},
	}
	if diff := cmp.Diff(lines(t, want), lines(t, all)); diff != "" {
		t.Error(diff)
	}
}
