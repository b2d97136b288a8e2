package client

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/deltas"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// runFixture returns a daemon's events for a run with a hook, a call and an answer.
func runFixture(t *testing.T) (list []*Event) {
	seq := int64(0)
	put := func(kind session.Kind, payload any) {
		t.Helper()
		b, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		seq++
		list = append(list, &Event{Seq: seq, Record: &api.Record{Seq: seq, Kind: kind, Payload: b}})
	}
	item := func(it transcript.Item) {
		put(session.KindItem, session.ItemDraft(it.MustEncode(), false, nil).Payload)
	}
	delta := func(e event.Event) {
		list = append(list, &Event{Agent: "agent", Events: []event.Event{e}})
	}
	put(record.KindOpened, session.Opened{SessionID: "s"})
	put(record.KindRunEvent, json.RawMessage(`{"event":"started","opened":{"type":"session_opened","id":"s","created":true}}`))
	put(record.KindTurnOpened, record.TurnOpened{Turn: "turn-1"})
	delta(event.ModelStarted{Model: "m"})
	text := ""
	for i := range 8 {
		word := fmt.Sprintf("word %d ", i)
		delta(event.TextDelta{Text: word})
		text += word
	}
	item(transcript.Item{ID: "i1", Role: transcript.RoleAssistant, Model: "m", Parts: []transcript.Part{
		transcript.Text{Text: text}, transcript.ToolUse{ID: "u", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)},
	}})
	put(record.KindHookRan, record.HookRan{Event: "PreToolUse", Use: "u", Messages: []record.HookNotice{{Hook: "h", Text: "w"}}})
	put(record.KindToolStarted, record.ToolStarted{Use: "u", Tool: "Bash"})
	put(record.KindToolFinished, record.ToolFinished{Use: "u", Tool: "Bash", Notes: []string{"refused"}})
	item(transcript.Item{ID: "i2", Role: transcript.RoleTool, Parts: []transcript.Part{
		transcript.ToolResult{UseID: "u", Content: []transcript.Part{transcript.Text{Text: "a.txt"}}},
	}})
	delta(event.ModelStarted{Model: "m"})
	delta(event.TextDelta{Text: "don"})
	delta(event.TextDelta{Text: "e"})
	item(transcript.Item{ID: "i3", Role: transcript.RoleAssistant, Finish: transcript.FinishStop, Parts: []transcript.Part{transcript.Text{Text: "done"}}})
	put(record.KindTurnClosed, record.TurnClosed{Turn: "turn-1", Reason: "completed", Cost: 0.5})
	put(record.KindRunEvent, json.RawMessage(`{"event":"completed","text":"done","result":{"type":"result","id":"s","reason":"completed","turns":2}}`))
	return list
}

// read returns all run events of these events.
func read(t *testing.T, list []*Event) (out []event.Event) {
	t.Helper()
	var r eventReader
	for _, e := range list {
		if !r.read(e) {
			continue
		}
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		out = append(out, e.Events...)
	}
	return out
}

// Whatever deltas are lost, the events of records are yielded once and in order, and the yielded
// text of an answer equals the text.
func TestRunEventsWithLostDeltas(t *testing.T) {
	const inOrder = "session_opened turn_started item_appended hook_ran tool_started tool_finished item_appended item_appended turn_finished result"
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var list []*Event
		lost := false
		for _, e := range runFixture(t) {
			if e.Record == nil && seed > 0 && rng.IntN(4) == 0 {
				lost = true
				continue
			}
			if lost { // as the daemon reports it
				list, lost = append(list, &Event{Gap: true}, &Event{CaughtUp: true}), false
			}
			list = append(list, e)
		}
		var types []string
		shown := ""
		for _, e := range read(t, list) {
			switch e := e.(type) {
			case event.ModelStarted:
				continue
			case event.TextDelta:
				shown += e.Text
				continue
			case event.ItemAppended:
				if text := e.Item.Text(); shown != "" && e.Item.Role() == transcript.RoleAssistant && shown != text {
					t.Fatalf("seed %d: %q is shown of %q", seed, shown, text)
				}
				shown = ""
			case event.ToolStarted:
				if string(e.Input) != `{"command":"ls"}` {
					t.Errorf("%+v", e)
				}
			case event.ToolFinished:
				if len(e.Notes) != 1 || len(e.Content) != 1 {
					t.Errorf("%+v", e)
				}
			case event.Result:
				if e.Turns != 2 || e.Text != "done" {
					t.Errorf("%+v", e)
				}
			}
			types = append(types, e.Type())
		}
		if got := strings.Join(types, " "); got != inOrder {
			t.Fatalf("seed %d: %s", seed, got)
		}
	}
}

// A record whose events cannot be decoded is yielded with an error that names it.
func TestUndecodableRecord(t *testing.T) {
	var r eventReader
	for kind, payload := range map[session.Kind]string{
		session.KindItem: `{"item":5}`, record.KindDecision: `[]`, record.KindToolStarted: `1`, record.KindPolicyChanged: `[]`, record.KindRunEvent: `[]`,
	} {
		e := &Event{Record: &api.Record{Seq: 7, Kind: kind, Payload: []byte(payload)}}
		if !r.read(e) || e.Err == nil || !strings.Contains(e.Err.Error(), "record 7") {
			t.Errorf("%s %s: %v", kind, payload, e.Err)
		}
	}
}

// If two agents write concurrently, the end of one answer does not affect the other's text.
func TestAnswersOfTwoAgents(t *testing.T) {
	var list []*Event
	delta := func(agent string, e event.Event) {
		list = append(list, &Event{Agent: agent, Events: []event.Event{e}})
	}
	item := func(agent, text string) {
		e := transcript.Item{ID: "i", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: text}}}.MustEncode()
		b, err := json.Marshal(session.ItemDraft(e, false, nil).Payload)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &Event{Record: &api.Record{Session: "s." + agent, Agent: agent, Kind: session.KindItem, Payload: b}})
	}
	delta("a", event.ModelStarted{})
	delta("b", event.ModelStarted{})
	delta("a", event.TextDelta{Text: "one"})
	delta("b", event.TextDelta{Text: "t"})
	item("a", "one")
	delta("b", event.TextDelta{Text: "wo"})
	item("b", "two")
	shown := ""
	for _, e := range read(t, list) {
		if d, ok := e.(event.TextDelta); ok {
			shown += d.Text
		}
	}
	if shown != "onetwo" {
		t.Errorf("%q", shown)
	}
}

// After a gap the daemon sends an answer from its beginning. What was yielded is not yielded again.
func TestTextAgain(t *testing.T) {
	delta := func(list ...event.Event) (out []*Event) {
		for _, e := range list {
			out = append(out, &Event{Agent: "a", Events: []event.Event{e}})
		}
		return out
	}
	began := event.ModelStarted{Model: "m"}
	before := delta(began, event.ThinkingDelta{Text: "hm"}, event.TextDelta{Text: "one "}, event.TextDelta{Text: "two "})
	gap := []*Event{{Gap: true}, {CaughtUp: true}}
	for _, c := range []struct {
		name  string
		after []*Event
		want  string
	}{
		{"the rest", delta(began, event.ThinkingDelta{Text: "hm"}, event.TextDelta{Text: "one two three "}, event.TextDelta{Text: "four"}), "three four"},
		{"nothing new", delta(began, event.ThinkingDelta{Text: "hm"}, event.TextDelta{Text: "one two "}, event.TextDelta{Text: "three"}), "three"},
		{"twice", slices.Concat(delta(began, event.ThinkingDelta{Text: "hm"}), gap, delta(began, event.ThinkingDelta{Text: "hm"}, event.TextDelta{Text: "one two three"})), "three"},
		{"another attempt", delta(began, event.ThinkingDelta{Text: "hm"}, event.TextDelta{Text: "another"}), "[model_started]hmanother"},
		{"another attempt without thinking", delta(began, event.TextDelta{Text: "one"}, event.TextDelta{Text: " more"}), "[model_started]one more"},
		{"no beginning", delta(event.TextDelta{Text: "lost"}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for i, e := range read(t, slices.Concat(before, gap, c.after)) {
				switch kind, text := deltas.Split(e); {
				case i < len(before):
				case kind != nil:
					got += text
				default:
					got += "[" + e.Type() + "]"
				}
			}
			if got != c.want {
				t.Errorf("%q follows, want %q", got, c.want)
			}
		})
	}
}
