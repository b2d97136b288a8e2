package cli

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/session"
)

// What a sub-agent of a run in the daemon does is shown as its own, and counts for nothing
// of its parent's.
func TestRemoteSubagent(t *testing.T) {
	f := newRemoteEvents("s", "", nil)
	var all []event.Event
	for _, r := range []api.Record{
		{Session: "sub", Agent: "scout", Kind: session.KindOpened, Payload: json.RawMessage(`{"format":1,"session_id":"sub","owner":"s","caller":"s","use":"d1"}`)},
		{Session: "sub", Agent: "scout", Kind: session.KindToolStarted, Payload: json.RawMessage(`{"use_id":"u1","tool":"Bash"}`)},
		{Session: "sub", Agent: "scout", Kind: session.KindApprovalAsked, Payload: json.RawMessage(`{"id":"q1","tool":"Bash"}`)},
	} {
		list, err := f.take(&client.Event{Kind: client.EventRecord, Record: &r})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	s, ok := all[0].(event.SubagentEvent)
	if started, is := s.Event.(event.ToolStarted); !ok || !is || s.Use != "d1" || s.Name != "scout" || started.Use != "u1" {
		t.Errorf("%+v", all[0])
	}
	if q, ok := all[1].(event.ApprovalAsked); !ok || q.Question.ID != "q1" {
		t.Errorf("%+v", all[1])
	}
}
