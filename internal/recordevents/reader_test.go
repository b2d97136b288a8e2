package recordevents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func logged(t testing.TB, seq int64, kind session.Kind, payload any) session.Record {
	t.Helper()
	b, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return session.Record{Seq: seq, Kind: kind, Payload: b}
}

func itemOf(t testing.TB, seq int64, queued bool, role transcript.Role, parts ...transcript.Part) session.Record {
	e := transcript.Item{ID: "i", Role: role, Parts: parts}.MustEncode()
	return logged(t, seq, session.KindItem, session.ItemDraft(e, queued, nil).Payload)
}

// reported returns the types of the events of records, and the events.
func reported(t testing.TB, records ...session.Record) (types string, all []event.Event) {
	t.Helper()
	var s Reader
	var names []string
	for _, r := range records {
		list, err := s.Events(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			names, all = append(names, e.Type()), append(all, e)
		}
	}
	return strings.Join(names, " "), all
}

func TestReaderEvents(t *testing.T) {
	call := transcript.ToolUse{ID: "u", Name: "Bash", Input: json.RawMessage(`{"a":1}`)}
	result := transcript.ToolResult{UseID: "u", Content: []transcript.Part{transcript.Text{Text: "out"}}}
	started := logged(t, 3, record.KindToolStarted, record.ToolStarted{Use: "u", Tool: "Bash"})
	ended := logged(t, 4, record.KindToolFinished, record.ToolFinished{Use: "u", Tool: "Bash", Millis: 12, Notes: []string{"n"}})
	for name, tt := range map[string]struct {
		records []session.Record
		want    string
	}{
		"a call": {
			[]session.Record{itemOf(t, 2, false, transcript.RoleAssistant, call), started, ended, itemOf(t, 5, false, transcript.RoleTool, result)},
			"item_appended tool_started tool_finished item_appended",
		},
		"a call in the background": {
			[]session.Record{started, itemOf(t, 4, false, transcript.RoleTool, result), ended},
			"tool_started item_appended tool_finished",
		},
		"a call that did not run": {
			[]session.Record{started, logged(t, 4, record.KindToolFinished, record.ToolFinished{Use: "u", Outcome: record.OutcomeNotRun}), itemOf(t, 5, false, transcript.RoleTool, result)},
			"tool_started tool_finished item_appended",
		},
		"an end without its result": {[]session.Record{started, ended, logged(t, 5, record.KindMetaChanged, session.MetaPatch{})}, "tool_started tool_finished"},
		"an erased record":          {[]session.Record{started, ended, {Seq: 5, Kind: session.KindItem}}, "tool_started tool_finished"},
		"a queued item":             {[]session.Record{itemOf(t, 1, true, transcript.RoleUser, transcript.Text{Text: "later"})}, ""},
		"the mode of the start":     {[]session.Record{logged(t, 1, record.KindPolicyChanged, policy.Change{Mode: policy.ModePlan})}, ""},
		"a turn and a mode": {
			[]session.Record{
				logged(t, 1, record.KindTurnOpened, record.TurnOpened{Turn: "t"}), logged(t, 2, record.KindPolicyChanged, policy.Change{Mode: policy.ModePlan}),
				logged(t, 3, record.KindTurnClosed, record.TurnClosed{Turn: "t", Reason: "failed", Error: "no"}),
			},
			"turn_started policy_changed turn_finished",
		},
		"no event": {[]session.Record{logged(t, 1, record.KindOpened, session.Opened{}), {Seq: 2, Kind: "later", Payload: json.RawMessage(`{}`)}}, ""},
	} {
		if got, _ := reported(t, tt.records...); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	_, all := reported(t, itemOf(t, 2, false, transcript.RoleAssistant, call), started, ended, itemOf(t, 5, false, transcript.RoleTool, result))
	b, err := event.Marshal(all[2])
	want := `{"type":"tool_finished","content":[{"type":"text","text":"out"}],"use_id":"u","tool":"Bash","ms":12,"notes":["n"]}`
	if e := all[1].(event.ToolStarted); string(e.Input) != `{"a":1}` || err != nil || string(b) != want {
		t.Errorf("%s %s, %v", e.Input, b, err)
	}
	if list, err := new(Reader).Events(started); err != nil || len(list) != 1 {
		t.Errorf("without a state: %v, %v", list, err)
	}
}

// Any payload gives events that can be encoded, or an error with the record's seq.
func FuzzReaderEvents(f *testing.F) {
	for i := range record.Kinds() {
		for _, text := range []string{`{}`, `[]`, `{"use_id":"u","tool":"Bash"}`, `{"item":{"role":"tool","id":"i","parts":[{"type":"tool_result","use_id":"u"}]}}`, `{"mode":"plan"}`} {
			f.Add(uint8(i), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		s := Reader{running: map[string]bool{"u": true}, turned: true}
		r := session.Record{Seq: 7, Kind: session.Kind(record.Kinds()[int(kind)%len(record.Kinds())]), Payload: payload}
		list, err := s.Events(r)
		if err != nil && !strings.Contains(err.Error(), "record 7") {
			t.Error(err)
		}
		for _, e := range list {
			if _, err := event.Marshal(e); err != nil && json.Valid(payload) && r.Kind != session.KindItem {
				t.Errorf("%s %s: %v", r.Kind, payload, err)
			}
			if event.Provisional(e) {
				t.Errorf("%s is recorded", e.Type())
			}
		}
	})
}
