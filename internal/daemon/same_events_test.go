package daemon

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/recordevents"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// eventRecorder records the events of an agent.
type eventRecorder struct {
	mu  sync.Mutex
	all []event.Event
}

func (o *eventRecorder) Observe(_ string, e event.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, e)
}

func (o *eventRecorder) events() []event.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.all)
}

// formsOf returns the JSON of events: the recorded ones, or the provisional ones.
func formsOf(t testing.TB, all []event.Event, provisional bool) []string {
	t.Helper()
	var list []string
	for _, e := range all {
		if event.Provisional(e) == provisional {
			b, err := event.Marshal(e)
			must(t, err)
			list = append(list, string(b))
		}
	}
	return list
}

// socketMessages returns the messages for events on the WebSocket: their types with the ids that they
// are about.
func socketMessages(t testing.TB, all []event.Event) []string {
	t.Helper()
	var list []string
	for _, e := range all {
		switch e := e.(type) {
		case event.ItemAppended:
			it, err := e.Item.Decode()
			must(t, err)
			for _, p := range it.Parts {
				switch p := p.(type) {
				case transcript.ToolUse:
					list = append(list, "tool-call "+p.ID)
				case transcript.ToolResult:
					list = append(list, "tool-result "+p.UseID)
				}
			}
			switch it.Role {
			case transcript.RoleAssistant:
				list = append(list, "agent_output "+it.ID)
			case transcript.RoleUser:
				list = append(list, "agent_input "+it.ID)
			}
		case event.ToolStarted:
			list = append(list, "tool-start "+e.Use)
		case event.ToolFinished:
			list = append(list, "tool-finish "+e.Use)
		case event.ApprovalAsked:
			list = append(list, "request_permission "+e.Request.ID)
		case event.ApprovalResolved:
			list = append(list, "permission_resolved "+e.ID)
		}
	}
	return list
}

// projectedMessages returns the same for records, as the WebSocket sends them.
func projectedMessages(t testing.TB, records []session.Record) []string {
	t.Helper()
	var list []string
	for _, r := range records {
		for _, frame := range wire.Project("r1", r.Seq, wire.Source{Record: r}) {
			var m struct {
				Type                        string
				ItemID, PermissionRequestID string
				Event                       struct{ Type, ToolCallID string }
			}
			must(t, json.Unmarshal(frame, &m))
			switch m.Type {
			case "agent_streaming":
				list = append(list, m.Event.Type+" "+m.Event.ToolCallID)
			case "agent_input", "agent_output":
				list = append(list, m.Type+" "+m.ItemID)
			case "request_permission", "permission_resolved":
				list = append(list, m.Type+" "+m.PermissionRequestID)
			}
		}
	}
	return list
}

// The agent, its log, the event stream and the WebSocket contain the same events in the same order;
// the event stream also contains the provisional ones.
func TestSameEventsEverywhere(t *testing.T) {
	w := newHTTPEnv(t)
	observer := new(eventRecorder)
	w.observers = []agent.LoopObserver{observer}
	w.want(201, nil, "POST", "/v1/runs", `{"session_id":"r1","cwd":"`+t.TempDir()+`"}`, w.as(api.ScopeRun))
	l := w.listen("/v1/sessions/r1/events")
	l.until("caught_up")
	w.want(200, nil, "POST", "/v1/runs/r1/start", `{"input":"push it"}`)
	q := w.waitApproval("r1", "git push")
	w.want(200, nil, "POST", "/v1/approvals/"+q.ID+"/decision", `{"decision":"allow","message":"fine","digest":"`+q.Digest+`"}`, w.as(api.ScopeApprove))
	w.waitStatus("r1", api.StatusCompleted)
	want := formsOf(t, observer.events(), false)
	if len(want) < 9 {
		t.Fatalf("the agent emitted only %s", want)
	}

	var state recordevents.Reader
	var logged []event.Event
	var records []session.Record
	for r, err := range w.sessions.Effective(t.Context(), "r1", session.Range{}) {
		must(t, err)
		list, err := state.Events(r)
		must(t, err)
		logged, records = append(logged, list...), append(records, r)
	}
	if diff := cmp.Diff(want, formsOf(t, logged, false)); diff != "" {
		t.Errorf("the agent -, the log +:\n%s", diff)
	}

	state = recordevents.Reader{}
	var streamed []event.Event
	for seq := int64(0); seq < records[len(records)-1].Seq; {
		e, ok := l.next()
		if !ok {
			t.Fatal("the stream ended")
		}
		switch e.event {
		case "record":
			var r api.Record
			must(t, json.Unmarshal([]byte(e.data), &r))
			list, err := state.Events(session.Record{Seq: r.Seq, Kind: r.Kind, Payload: r.Payload})
			must(t, err)
			streamed, seq = append(streamed, list...), r.Seq
		case "delta":
			var d struct{ Event json.RawMessage }
			must(t, json.Unmarshal([]byte(e.data), &d))
			provisional, err := event.Unmarshal(d.Event)
			must(t, err)
			streamed = append(streamed, provisional)
		}
	}
	if diff := cmp.Diff(want, formsOf(t, streamed, false)); diff != "" {
		t.Errorf("the agent -, the event stream +:\n%s", diff)
	}
	if diff := cmp.Diff(socketMessages(t, observer.events()), projectedMessages(t, records)); diff != "" {
		t.Errorf("the agent -, the WebSocket +:\n%s", diff)
	}
	provisional := slices.DeleteFunc(streamed, func(e event.Event) bool { _, ok := e.(event.Result); return ok })
	if len(provisional) != len(streamed)-1 {
		t.Errorf("the event stream has %d results", len(streamed)-len(provisional))
	}
	if diff := cmp.Diff(formsOf(t, observer.events(), true), formsOf(t, provisional, true)); diff != "" {
		t.Errorf("provisional events: the agent -, the event stream +:\n%s", diff)
	}
}
