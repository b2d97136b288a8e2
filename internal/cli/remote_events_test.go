package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// told makes a daemon's events.
type told struct {
	t   *testing.T
	seq int64
}

func (d *told) record(kind session.Kind, payload any) *client.Event {
	d.t.Helper()
	b, err := json.Marshal(payload)
	if err != nil {
		d.t.Fatal(err)
	}
	d.seq++
	r := &api.Record{Seq: d.seq, Kind: kind, Payload: b, Time: time.UnixMilli(d.seq)}
	return &client.Event{Kind: client.EventRecord, Seq: d.seq, Record: r}
}

func (d *told) item(it transcript.Item) *client.Event {
	e := transcript.MustEncode(it)
	return d.record(session.KindItem, session.ItemPayload{Item: e.JSON})
}

func unrecorded(e event.Event) *client.Event { return &client.Event{Kind: client.EventDelta, Delta: e} }

// aRun is what a daemon tells of a run with a hook, a call and an answer.
func aRun(t *testing.T) []*client.Event {
	d := &told{t: t}
	var list []*client.Event
	add := func(e ...*client.Event) { list = append(list, e...) }
	add(d.record(session.KindOpened, session.Opened{SessionID: "s"}), unrecorded(event.SessionOpened{ID: "s", Created: true}))
	add(d.record(session.KindTurnOpened, session.TurnOpened{Turn: "turn-1"}))
	add(unrecorded(event.ModelStarted{Model: "m"}))
	for i := range 8 {
		add(unrecorded(event.TextDelta{Text: fmt.Sprintf("word %d ", i)}))
	}
	add(d.item(transcript.Item{ID: "i1", Role: transcript.RoleAssistant, Model: "m", Usage: &transcript.Usage{Input: 2, Output: 1}, Parts: []transcript.Part{
		transcript.Text{Text: "word 0 word 1 word 2 word 3 word 4 word 5 word 6 word 7 "},
		transcript.ToolUse{ID: "u", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)},
	}}))
	add(d.record(session.KindHookRan, session.HookRanPayload{Event: string(hook.PreToolUse), Use: "u", Said: []session.HookNotice{{By: "h", Text: "w"}}}))
	add(d.record(session.KindToolStarted, session.ToolStartedPayload{Use: "u", Tool: "Bash"}))
	add(d.record(session.KindToolFinished, session.ToolFinishedPayload{Use: "u", Tool: "Bash", Notes: []string{"refused"}}))
	add(d.item(transcript.Item{ID: "i2", Role: transcript.RoleTool, Parts: []transcript.Part{
		transcript.ToolResult{UseID: "u", Content: []transcript.Part{transcript.Text{Text: "a.txt"}}},
	}}))
	add(unrecorded(event.ModelStarted{Model: "m"}), unrecorded(event.TextDelta{Text: "don"}), unrecorded(event.TextDelta{Text: "e"}))
	add(d.item(transcript.Item{ID: "i3", Role: transcript.RoleAssistant, Model: "m", Finish: transcript.FinishStop, Parts: []transcript.Part{transcript.Text{Text: "done"}}}))
	add(d.record(session.KindTurnClosed, session.TurnClosed{Turn: "turn-1", Reason: "completed", Cost: 0.5}))
	return append(list, unrecorded(event.Result{SessionID: "s", Reason: event.ReasonCompleted, Turns: 2}))
}

func replayed(t *testing.T, list []*client.Event) (f *remoteEvents, out []event.Event) {
	t.Helper()
	f = newRemoteEvents("s", "", nil)
	for _, e := range list {
		more, err := f.take(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, more...)
	}
	return f, append(out, f.flush()...)
}

// names are the types of events, without those of a model's call that may be lost.
func names(list []event.Event) string {
	var s []string
	for _, e := range list {
		switch e.(type) {
		case event.TextDelta, event.ModelStarted:
		default:
			s = append(s, strings.TrimPrefix(reflect.TypeOf(e).String(), "event."))
		}
	}
	return strings.Join(s, " ")
}

const inOrder = "SessionOpened TurnStarted ItemAppended HookRan ToolStarted ToolFinished ItemAppended ItemAppended TurnFinished"

// Events come in the agent's order, and whole.
func TestRemoteEvents(t *testing.T) {
	f, out := replayed(t, aRun(t))
	if got := names(out); got != inOrder {
		t.Errorf("%s\nwant %s", got, inOrder)
	}
	for _, e := range out {
		switch e := e.(type) {
		case event.HookRan:
			if len(e.Ran.Said) != 1 {
				t.Errorf("%+v", e)
			}
		case event.ToolStarted:
			if string(e.Input) != `{"command":"ls"}` {
				t.Errorf("%+v", e)
			}
		case event.ToolFinished:
			if len(e.Result.Notes) != 1 || resultText(e.Result) != "a.txt" {
				t.Errorf("%+v", e)
			}
		}
	}
	if r := f.ended(&wire.RunEvent{Event: wire.RunCompleted}); r.Turns != 2 || r.CostUSD != 0 {
		t.Errorf("%+v", r)
	}
}

// What was found when a session was opened is told with that it was, whether its delta
// comes or not; later it is told by itself.
func TestRemoteFound(t *testing.T) {
	for _, lost := range []bool{false, true} {
		f := newRemoteEvents("s", "", &session.Meta{MessageCount: 2})
		out := f.found([]string{"turn-1 was cut off"})
		if lost {
			out = append(out, f.flush()...)
		} else {
			out = append(out, f.delta(event.SessionOpened{ID: "s", Items: 2, Tools: []string{"Read"}})...)
		}
		if len(out) != 1 {
			t.Fatalf("%+v", out)
		}
		if o, ok := out[0].(event.SessionOpened); !ok || o.Items != 2 || len(o.Notices) != 1 || (o.Tools == nil) != lost {
			t.Errorf("%+v", out[0])
		}
		if out := f.found([]string{"a server is away"}); names(out) != "Notice" {
			t.Errorf("%+v", out)
		}
	}
}

// Whatever deltas are lost, the events of records come once, in order, and what is
// shown of a text is the text.
func TestRemoteEventsWithLosses(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var list []*client.Event
		lost := false
		for _, e := range aRun(t) {
			if e.Kind == client.EventDelta && rng.IntN(4) == 0 {
				lost = true
				continue
			}
			if lost { // as the daemon tells it
				list, lost = append(list, &client.Event{Kind: client.EventGap}, &client.Event{Kind: client.EventCaughtUp}), false
			}
			list = append(list, e)
		}
		f, out := replayed(t, list)
		if got := names(out); got != inOrder {
			t.Fatalf("seed %d: %s", seed, got)
		}
		shown := ""
		for _, e := range out {
			switch e := e.(type) {
			case event.TextDelta:
				shown += e.Text
			case event.ItemAppended:
				if text := e.Item.Text(); shown != "" && e.Item.Role() == transcript.RoleAssistant && shown != text {
					t.Fatalf("seed %d: %q is shown of %q", seed, shown, text)
				}
				shown = ""
			}
		}
		if r := f.ended(&wire.RunEvent{Event: wire.RunCompleted}); r.Turns != 2 || r.Reason != event.ReasonCompleted {
			t.Fatalf("seed %d: %+v", seed, r)
		}
	}
}

// Without the agent's own result, records have it.
func TestResultOfRecords(t *testing.T) {
	list := aRun(t)
	f, _ := replayed(t, list[:len(list)-1])
	r := f.ended(&wire.RunEvent{Event: wire.RunCompleted})
	if r.Turns != 2 || r.CostUSD != 0.5 || r.Usage.Input != 2 || r.Turn != "turn-1" || !strings.HasSuffix(r.Text, "done") || r.ByModel["m"].Calls != 1 {
		t.Errorf("%+v", r)
	}
	if r := f.ended(&wire.RunEvent{Event: wire.RunCancelled}); r.Reason != event.ReasonInterrupted {
		t.Errorf("%+v", r)
	}
	if r := f.ended(&wire.RunEvent{Event: wire.RunFailed, Message: "why"}); r.Reason != event.ReasonFailed || r.Err == nil || r.Err.Error() != "why" {
		t.Errorf("%+v", r)
	}
}

// A record that cannot be read is an error that names it.
func TestBadRecord(t *testing.T) {
	f := newRemoteEvents("s", "", nil)
	for kind, payload := range map[session.Kind]string{
		session.KindItem: `{"item":5}`, session.KindDecision: `[]`, session.KindToolStarted: `1`, session.KindPolicyChanged: `[]`,
	} {
		e := &client.Event{Kind: client.EventRecord, Record: &api.Record{Seq: 7, Kind: kind, Payload: []byte(payload)}}
		if _, err := f.take(e); err == nil {
			t.Errorf("%s %s passes", kind, payload)
		}
	}
}

// A call that goes on in the background is told of, though no record says that alone: it has
// its result before its end.
func TestRemoteDetached(t *testing.T) {
	d := &told{t: t}
	result := func(use string) *client.Event {
		return d.item(transcript.Item{ID: "r-" + use, Role: transcript.RoleTool, Parts: []transcript.Part{
			transcript.ToolResult{UseID: use, Content: []transcript.Part{transcript.Text{Text: "it goes on"}}},
		}})
	}
	_, out := replayed(t, []*client.Event{
		d.record(session.KindOpened, session.Opened{SessionID: "s"}),
		d.record(session.KindToolStarted, session.ToolStartedPayload{Use: "u", Tool: "Bash"}), result("u"),
		result("refused"),
		d.record(session.KindToolStarted, session.ToolStartedPayload{Use: "v", Tool: "Bash"}),
		d.record(session.KindToolFinished, session.ToolFinishedPayload{Use: "v", Tool: "Bash"}), result("v"),
		d.record(session.KindToolFinished, session.ToolFinishedPayload{Use: "u", Tool: "Bash"}),
	})
	want := "SessionOpened ToolStarted ToolDetached ItemAppended ItemAppended ToolStarted ToolFinished ItemAppended ToolFinished"
	if got := names(out); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, e := range out {
		if e, ok := e.(event.ToolDetached); ok && (e.Use != "u" || e.Tool != "Bash") {
			t.Errorf("%+v", e)
		}
	}
}
