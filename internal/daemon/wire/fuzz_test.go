package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// A message that Decode accepts is accepted again after encoding, and matches the schema. A
// rejected one has a code and a short message.
func FuzzDecode(f *testing.F) {
	for _, h := range readHostile(f) {
		if len(h.frame) < 10_000 {
			f.Add(h.frame)
		}
	}
	for _, frame := range frames {
		f.Add([]byte(frame))
	}
	client := schemaOf(f, "client")
	f.Fuzz(func(t *testing.T, frame []byte) {
		r, e := Decode(frame)
		if e != nil {
			if r != nil || e.Code == "" || e.Message == "" || len(e.Message) > 8<<10 || !utf8.ValidString(e.Message) || len(e.RequestID) > MaxRequestID {
				t.Errorf("%q gives %+v", frame, e)
			}
			return
		}
		if !json.Valid(frame) || !utf8.Valid(frame) {
			t.Errorf("%q is accepted", frame)
		}
		if err := valid(t, client, frame); err != nil {
			t.Errorf("%s: %v", frame, err)
		}
		b, err := jsonscan.Marshal(r)
		if err != nil {
			t.Fatalf("%s is accepted but cannot be encoded: %v", frame, err)
		}
		again, e := Decode(b)
		if e != nil { // encoded again it may be too large
			return
		}
		if !reflect.DeepEqual(compacted(t, again), compacted(t, r)) {
			t.Errorf("%s\nis read as %+v\nand then as %+v", frame, r, again)
		}
	})
}

func compacted(t *testing.T, r Request) string {
	b, err := jsonscan.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A message that ParseMessage accepts is encoded and parsed again without a change.
func FuzzParseMessage(f *testing.F) {
	for _, m := range samples() {
		f.Add(Encode(m))
	}
	for _, frame := range frames {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := parseMessage(frame)
		if err != nil {
			return
		}
		once := Encode(m)
		again, err := parseMessage(once)
		if err != nil {
			t.Fatalf("%s is written as %s: %v", frame, once, err)
		}
		if twice := Encode(again); !bytes.Equal(once, twice) {
			t.Errorf("%s is written as %s and then as %s", frame, once, twice)
		}
	})
}

// For every record, all frames are valid messages with the same seq.
func FuzzProject(f *testing.F) {
	add := func(kind session.Kind, payload any) {
		b, err := json.Marshal(payload)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(kind), b, "writer", int64(0))
	}
	for _, e := range []string{
		RunStarted, RunStepStarted, RunStepCompleted, RunStepFailed, RunRelayed, RunInputAsked, RunInputGiven, RunSteered, RunPolicy,
		RunCompleted, RunFailed, RunCancelled, RunInterrupted,
	} {
		add(record.KindRunEvent, RunEvent{Event: e, Strategy: &StrategyInfo{Flow: Raw(`{}`)}, Chains: []policy.Chain{{Links: []policy.ChainLink{{}}}}, Usage: &transcript.Usage{Input: 1}})
	}
	for _, role := range []transcript.Role{transcript.RoleUser, transcript.RoleAssistant, transcript.RoleTool, transcript.RoleSystem} {
		it := transcript.Item{ID: "i", Role: role, Parts: []transcript.Part{
			transcript.Text{Text: "t"},
			transcript.Thinking{Text: "h"},
			transcript.ToolUse{ID: "c", Name: "n", Input: Raw(`{}`)},
			transcript.ToolResult{UseID: "c", Content: []transcript.Part{transcript.Text{Text: "r"}, transcript.Media{Data: []byte{1}}}},
		}}
		add(session.KindItem, session.ItemDraft(it.MustEncode(), false, nil).Payload)
	}
	q := approvalRequest(policy.Request{Operation: policy.OpWrite, Resource: "/a", Display: "+", Input: Raw(`{}`)}, policy.Request{Resource: "/b"})
	add(record.KindApprovalAsked, q)
	add(record.KindApprovalResolved, approval.Answer{RequestID: "p", Decision: approval.Allow})
	add(record.KindToolStarted, record.ToolStarted{Use: "c"})
	add(record.KindToolFinished, record.ToolFinished{Use: "c", Outcome: "unknown"})
	add(record.KindRewrite, session.Rewrite{Reason: "compaction"})
	f.Add("item", []byte(`{"item":{"role":"assistant","parts":[{"type":"tool_use","id":"c","name":"n","input":nul}]}}`), "", int64(-1))
	f.Add("item", []byte(`{"item":[`), "", int64(1)<<60)
	f.Add("", []byte(nil), "", int64(0))
	f.Fuzz(func(t *testing.T, kind string, payload []byte, agentName string, seconds int64) {
		s := Source{Agent: agentName, Session: "run-1.a", Record: session.Record{Seq: 1, Kind: session.Kind(kind), Payload: payload, Time: noon.AddDate(0, 0, int(seconds%4e6))}}
		frames := Project("run-1", 9, s, s)
		for i, frame := range frames {
			m, err := parseMessage(frame)
			if err != nil {
				if s.Time.Year() < 1 || s.Time.IsZero() {
					continue
				}
				t.Fatalf("%s: %v", frame, err)
			}
			of, ok := m.(RunMessage)
			if !ok || of.Position().RunID != "run-1" || of.Position().Seq != 9 || of.Position().More != (i < len(frames)-1) {
				t.Errorf("frame %d of %d is %s", i, len(frames), frame)
			}
		}
		if again := Project("run-1", 9, s, s); !reflect.DeepEqual(frames, again) {
			t.Errorf("%s the second time, %s before", again, frames)
		}
	})
}
