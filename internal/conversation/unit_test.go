package conversation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestLost(t *testing.T) {
	c := conversation.New(options())
	broken := errors.New("broken")
	for _, tt := range []struct {
		e    client.Event
		want error
	}{
		{client.Event{Lost: true, Err: broken}, broken},
		{client.Event{Gap: true}, nil},
	} {
		if c.Apply(&tt.e); c.State().Lost != tt.want {
			t.Errorf("after %+v: %v", tt.e, c.State().Lost)
		}
	}
	if c.Apply(&client.Event{Lost: true}); c.State().Lost == nil {
		t.Error("a lost connection without a reason is not shown")
	}
	if c.Apply(&client.Event{Deleted: true}); !c.State().Deleted {
		t.Error("the session was deleted")
	}
}

// A client that joins adds the open requests. Those that it knows, and those whose answer it has
// read, are not added.
func TestAsk(t *testing.T) {
	c := conversation.New(options())
	apply := func(e event.Event) []conversation.Update {
		return c.Apply(&client.Event{Record: &api.Record{Kind: record.KindApprovalAsked}, Events: []event.Event{e}})
	}
	apply(event.ApprovalAsked{Request: approval.Request{ID: "known"}})
	if got := apply(event.ApprovalResolved{ID: "answered", Answer: approval.Answer{Actor: "bob"}}); len(got) > 0 {
		t.Errorf("an answer without its request gives %v", got)
	}
	apply(event.ApprovalAsked{Request: approval.Request{ID: "seen"}})
	apply(event.ApprovalResolved{ID: "seen", Answer: approval.Answer{Actor: "bob"}})
	for _, id := range []string{"known", "answered", "seen", "open"} { // the list may be older than the answers
		c.Ask(approval.Request{ID: id, Use: "u-" + id, Tool: "Bash", Requests: []policy.Request{{Input: json.RawMessage(`{"command":"ls"}`)}}})
	}
	var got []string
	for _, q := range c.State().Questions {
		got = append(got, q.ID)
		if !q.Asked.Equal(start) {
			t.Errorf("%s was asked at %v", q.ID, q.Asked)
		}
	}
	if fmt.Sprint(got) != "[known open]" {
		t.Errorf("questions %v", got)
	}
	list := apply(event.DecisionMade{Decision: policy.Decision{Use: "u-open", Tool: "Bash", Effect: policy.Deny, By: "rules"}})
	if len(list) != 1 || string(list[0].Block.Call.Input) != `{"command":"ls"}` {
		t.Errorf("the denied call has not the input of its request: %+v", list)
	}
}

// What a log says only in its beginning comes from the options.
func TestOptions(t *testing.T) {
	o := options()
	o.Session, o.Title, o.Model, o.Mode, o.CostUSD = "s", "old", "m", policy.ModePlan, 3
	c := conversation.New(o)
	title := json.RawMessage(`{"title":"new","model":"n"}`)
	s := c.State()
	if s.Session != "s" || s.Title != "old" || s.Model != "m" || s.Mode != policy.ModePlan || s.Usage.CostUSD != 3 || s.Usage.Window != 100_000 {
		t.Errorf("state %+v", s)
	}
	c.Apply(&client.Event{Seq: 7, Record: &api.Record{Kind: record.KindMetaChanged, Payload: title}})
	if s.Title != "new" || s.Model != "n" || s.Seq != 7 {
		t.Errorf("state %+v", s)
	}
}

// turn returns the events of a turn with a call. They have different ids and texts.
func turn(n int) (list []*client.Event) {
	seq := int64(n * 10)
	add := func(kind string, payload string, e ...event.Event) {
		seq++
		list = append(list, &client.Event{Seq: seq, Record: &api.Record{Seq: seq, Kind: session.Kind(kind), Payload: json.RawMessage(payload)}, Events: e})
	}
	item := func(it transcript.Item) {
		it.ID = fmt.Sprint("item", seq)
		enc := it.MustEncode()
		add(record.KindItem, `{"item":`+string(enc.JSON)+`,"cost_usd":0.01}`, event.ItemAppended{Seq: seq, Item: enc})
	}
	use, text := fmt.Sprint("use", n), strings.Repeat(fmt.Sprint("word ", n, " "), 60)
	add(record.KindRunEvent, `{"event":"started","by":"ann","via":"http","strategy":{"sole":"agent"},"input":"go"}`, event.SessionOpened{ID: "s"})
	add(record.KindTurnOpened, `{}`, event.TurnStarted{Turn: use})
	item(transcript.UserText("go on with " + text))
	item(transcript.Item{Role: transcript.RoleAssistant, Model: "m", Usage: &transcript.Usage{Input: 100, Output: 10}, Parts: []transcript.Part{
		transcript.Thinking{Text: text}, transcript.Text{Text: text}, transcript.ToolUse{ID: use, Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)},
	}})
	add(record.KindDecision, `{}`, event.DecisionMade{Decision: policy.Decision{Use: use, Tool: "Bash", Effect: policy.Allow}})
	add(record.KindToolStarted, `{}`, event.ToolStarted{Use: use, Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)})
	item(transcript.ToolResult{UseID: use, Content: []transcript.Part{transcript.Text{Text: text}}}.Item())
	list[len(list)-1].Events = append([]event.Event{event.ToolFinished{Use: use, Tool: "Bash", Content: []transcript.Part{transcript.Text{Text: text}}}}, list[len(list)-1].Events...)
	add(record.KindTurnClosed, `{}`, event.TurnFinished{Turn: use, Reason: event.ReasonCompleted})
	add(record.KindRunEvent, `{"event":"completed","result":{"type":"result"}}`, event.Result{SessionID: "s", Reason: event.ReasonCompleted, Text: text})
	return list
}

// The memory of a conversation does not grow with the number of turns.
func TestMemory(t *testing.T) {
	c := conversation.New(options())
	size := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := size()
	for n := range 1500 {
		for _, e := range turn(n) {
			c.Apply(e)
		}
	}
	if grown := size() - before; grown > 1<<20 {
		t.Errorf("it has %d KiB after 1,500 turns", grown>>10)
	}
	if s := c.State(); s.Working || len(s.Calls) > 0 || s.Usage.Input != 150_000 {
		t.Errorf("state %+v", s)
	}
}

// BenchmarkApply reads 10,000 records.
func BenchmarkApply(b *testing.B) {
	var list []*client.Event
	for n := 0; len(list) < 10_000; n++ {
		list = append(list, turn(n)...)
	}
	list = list[:10_000]
	b.ReportAllocs()
	for b.Loop() {
		c := conversation.New(options())
		for _, e := range list {
			c.Apply(e)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/10000-records")
}

func TestSplitInput(t *testing.T) {
	block := func(s string) string { return "<user_steering>\n" + s + "\n</user_steering>" }
	for _, want := range [][3]string{
		{"", "input", ""},
		{"", "", "queued\n\ntwice"},
		{"", "input", "queued"},
		{"older", "input", ""},
		{"older\n\nones", "input", "queued"},
		{"", "<user_steering>", ""},
	} {
		var list []string
		for i, part := range want {
			if i != 1 && part != "" {
				part = block(part)
			}
			if part != "" {
				list = append(list, part)
			}
		}
		older, input, newer := conversation.SplitInput(strings.Join(list, "\n\n"))
		if got := [3]string{older, input, newer}; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The last line of the output of a sub-agent's call says what the sub-agent does, until it has ended.
func TestOutputOfSubagent(t *testing.T) {
	c := conversation.New(options())
	sub := func(e event.Event) event.Event {
		return event.SubagentEvent{Use: "d", Session: "s2", Name: "scout", Event: e}
	}
	record := func(e event.Event) {
		c.Apply(&client.Event{Record: &api.Record{Session: "s2", Agent: "scout"}, Events: []event.Event{sub(e)}})
	}
	output := func(text string) string {
		c.Apply(&client.Event{Agent: "a", Events: []event.Event{sub(event.ToolOutputDelta{Use: "u", Text: text})}})
		return c.State().Agents[0].Doing
	}
	record(event.ToolStarted{Use: "u", Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)})
	for _, tt := range [][2]string{{"first\nsecond\n", "second"}, {"\n", "second"}} {
		if got := output(tt[0]); got != tt[1] {
			t.Errorf("after %q it does %q", tt[0], got)
		}
	}
	record(event.TurnFinished{Reason: event.ReasonCompleted})
	if got := output("late"); got == "late" {
		t.Error("an agent that has ended writes")
	}
}
