package event

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func number(n int) *int { return &n }

// cases has each type of event with its JSON form.
func cases() map[string]Event {
	usage := transcript.Usage{Input: 3, Output: 2}
	item := transcript.Item{ID: "i", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "a <b>"}}}.MustEncode()
	return map[string]Event{
		`{"type":"session_opened","id":"s","created":true,"tools":["Bash"],"notices":["n"],"recovery":{"session":"s","head":4,"cut_bytes":12,"kept":"/k"}}`: SessionOpened{
			ID: "s", Created: true, Tools: []string{"Bash"}, Notices: []string{"n"}, Recovery: &session.Recovery{Session: "s", Head: 4, CutBytes: 12, TailFile: "/k"},
		},
		`{"type":"session_opened","id":"s","forked":"p","items":3,"caller":"c","use_id":"u","name":"scout"}`: SessionOpened{ID: "s", Forked: "p", Items: 3, Caller: "c", Use: "u", Name: "scout"},
		`{"type":"turn_started","turn":"t"}`:                                   TurnStarted{Turn: "t"},
		`{"type":"text_delta","text":"<&>"}`:                                   TextDelta{Text: "<&>"},
		`{"type":"thinking_delta","text":"hm"}`:                                ThinkingDelta{Text: "hm"},
		`{"type":"tool_output_delta","use_id":"u","text":"ok\n"}`:              ToolOutputDelta{Use: "u", Text: "ok\n"},
		`{"type":"tool_input_delta","use_id":"u","tool":"Bash","json":"{\"c"}`: ToolInputDelta{Use: "u", Tool: "Bash", JSON: `{"c`},
		`{"type":"item_appended","item":` + string(item.JSON) + `,"seq":7}`:    ItemAppended{Seq: 7, Item: item},
		`{"type":"item_appended","seq":7}`:                                     ItemAppended{Seq: 7},
		`{"type":"tool_started","use_id":"u","tool":"Bash","input":{"a":1}}`:   ToolStarted{Use: "u", Tool: "Bash", Input: json.RawMessage(`{"a":1}`)},
		`{"type":"tool_finished","use_id":"u","tool":"Bash","is_error":true,"ms":12,"outcome":"unknown"}`: ToolFinished{
			Use: "u", Tool: "Bash", IsError: true, Millis: 12, Outcome: record.OutcomeUnknown,
		},
		`{"type":"tools_changed","tools":["A","B"]}`:                      ToolsChanged{Tools: []string{"A", "B"}},
		`{"type":"compacting","trigger":"auto"}`:                          CompactionStarted{Trigger: "auto"},
		`{"type":"mutation_finished","by":"repair","before":2,"after":3}`: TranscriptRewritten{Mutator: "repair", Before: 2, After: 3},
		`{"type":"retrying","error":{"message":"no","hint":"wait"},"delay_ms":1500,"attempt":2}`: ModelRetrying{
			Err: &Error{Message: "no", Advice: "wait"}, Attempt: 2, Delay: 1500 * time.Millisecond,
		},
		`{"type":"model_switched","error":{"message":"no"},"from":"a","to":"b"}`: ModelSwitched{From: "a", To: "b", Err: &Error{Message: "no"}},
		`{"type":"hook_ran","ran":{"event":"Stop","hooks":[{"name":"h","type":"command","ms":3}],"said":[{"by":"h","text":"w"}]}}`: HookRan{
			Ran: record.HookRan{Event: "Stop", Hooks: []record.HookRun{{Name: "h", Type: "command", Millis: 3}}, Messages: []record.HookNotice{{Hook: "h", Text: "w"}}},
		},
		`{"type":"terminal_sequences","sequences":["\u0007"]}`:                  TerminalSequences{Sequences: []string{"\a"}},
		`{"type":"notified","title":"t","body":"b","level":"info","by":"hook"}`: Notification{Title: "t", Body: "b", Level: "info", By: "hook"},
		`{"type":"model_started","provider":"p","model":"m","attempt":1}`:       ModelStarted{Provider: "p", Model: "m", Attempt: 1},
		`{"type":"model_finished","took_ms":9,"provider":"p","model":"m","usage":{"input":3,"output":2},"finish":"stop"}`: ModelFinished{
			Provider: "p", Model: "m", Usage: &usage, Finish: transcript.FinishStop, Duration: 9 * time.Millisecond,
		},
		`{"type":"usage_updated","took_ms":5,"model":"m","usage":{"input":3,"output":2},"total":{"input":3,"output":2},"cost_usd":0.5,"call_usd":0.25,"for":"aside","provider":"p"}`: UsageUpdated{
			Model: "m", Usage: usage, Total: usage, CostUSD: 0.5, CallUSD: 0.25, Purpose: "aside", Provider: "p", Duration: 5 * time.Millisecond,
		},
		`{"type":"notice","text":"n"}`: Notice{Text: "n"},
		`{"type":"turn_finished","error":{"message":"stopped","hook_event":"Stop","hook":"h","hook_reason":"stopped"},"turn":"t","reason":"hook"}`: TurnFinished{
			Turn: "t", Reason: ReasonHook, Err: &Error{Message: "stopped", HookEvent: "Stop", Hook: "h", HookReason: "stopped"},
		},
		`{"type":"result","error":{"message":"no","code":"busy"},"took_ms":20,"took_model_ms":10,"id":"s","turn":"t","reason":"failed","text":"x","turns":2,"usage":{"input":3,"output":2},"cost_usd":0.5,"by_model":{"m":{"usage":{"input":3,"output":2},"cost_usd":0.5,"calls":2}},"finish":"stop"}`: Result{
			SessionID: "s", Turn: "t", Reason: ReasonFailed, Text: "x", Err: &Error{Message: "no", Code: "busy"}, Turns: 2, Usage: usage, CostUSD: 0.5,
			ByModel: map[string]ModelUsage{"m": {Usage: usage, CostUSD: 0.5, Calls: 2}}, Duration: 20 * time.Millisecond, ModelDuration: 10 * time.Millisecond, Finish: transcript.FinishStop,
		},
		`{"type":"subagent","event":{"type":"turn_finished","error":{"message":"no"},"turn":"t","reason":"failed"},"use_id":"u","session":"s","name":"scout"}`: SubagentEvent{
			Use: "u", Session: "s", Name: "scout", Event: TurnFinished{Turn: "t", Reason: ReasonFailed, Err: &Error{Message: "no"}},
		},
		`{"type":"tool_finished","content":[{"type":"text","text":"hi"}],"use_id":"u","tool":"Bash","is_error":true,"ms":0,"exit_code":1,"notes":["n"],"changes":[{"path":"/a","before":"absent","after":"0"}],"cwd":"/w"}`: ToolFinished{
			Use: "u", Tool: "Bash", Content: []transcript.Part{transcript.Text{Text: "hi"}}, IsError: true, ExitCode: number(1), Notes: []string{"n"},
			Changes: []record.FileChange{{Path: "/a", Before: "absent", After: "0"}}, Cwd: "/w",
		},
	}
}

func TestJSON(t *testing.T) {
	for want, e := range cases() {
		got, err := Marshal(e)
		if err != nil || string(got) != want {
			t.Errorf("%T: %v\ngot  %s\nwant %s", e, err, got, want)
		}
		if back, err := Unmarshal([]byte(want)); err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%T: %v\ngot  %#v\nwant %#v", e, err, back, e)
		}
	}
}

// Policy and approval payloads have the same JSON in events and records.
func TestPayloads(t *testing.T) {
	at := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, e := range []Event{
		DecisionMade{Decision: policy.Decision{Use: "u", Tool: "Bash", Effect: policy.Deny, Reason: "rule", Input: json.RawMessage(`{}`)}},
		ApprovalAsked{Request: approval.Request{ID: "q", Use: "u", Tool: "Bash", AskedAt: at}},
		ApprovalResolved{ID: "q", Answer: approval.Answer{RequestID: "q", Decision: approval.Allow, Actor: "ann", At: at}, LateAnswer: &approval.Answer{RequestID: "q", Decision: approval.Deny, At: at}},
		PolicyChanged{Change: policy.Change{Mode: policy.ModePlan, By: "ann", Version: 2}},
	} {
		b, err := Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Unmarshal(b); err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", b, err, back, e)
		}
	}
}

// Each type has a decoder, and Provisional knows it.
func TestTypes(t *testing.T) {
	provisional := 0
	for name, read := range decoders {
		e, err := read([]byte(`{}`))
		if err != nil || e.Type() != name {
			t.Errorf("%s: %q, %v", name, e.Type(), err)
		}
		if Provisional(e) {
			provisional++
		}
	}
	if len(decoders) != 28 || provisional != 18 {
		t.Errorf("%d types, %d of them provisional", len(decoders), provisional)
	}
}

func TestUnmarshalErrors(t *testing.T) {
	deep := `{"type":"notice","text":"n"}`
	for range maxDepth - 1 {
		deep = `{"type":"subagent","use_id":"u","session":"s","event":` + deep + `}`
	}
	if _, err := Unmarshal([]byte(deep)); err != nil {
		t.Error(err)
	}
	for in, want := range map[string]string{
		``:                           "event: unexpected end",
		`[]`:                         "event: json: cannot unmarshal array",
		`{"type":"notice"} {}`:       "event: invalid character",
		`{"type":"subagent"}`:        "the field event is missing",
		`{"type":"notice","text":1}`: "event notice: json: cannot unmarshal number",
		`{"type":"result","took_ms":9223372036854775807}`:    "out of range",
		`{"type":"item_appended","item":{"role":"nobody"}}`:  "event item_appended: ",
		`{"type":"tool_finished","content":{"type":"text"}}`: "event tool_finished: ",
		`{"type":"subagent","event":` + deep + `}`:           "in more than 3 events",
		`{"type":"subagent","event":{"type":"x"}}`:           `unknown event type: "x"`,
		`{"text":"no type"}`:                                 `unknown event type: ""`,
	} {
		if _, err := Unmarshal([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
	if _, err := Unmarshal([]byte(`{"type":"new"}`)); !errors.Is(err, ErrUnknownType) {
		t.Error(err)
	}
	if e, err := Unmarshal([]byte(`{"type":"notice","text":"n","later":{"a":[1]}}`)); err != nil || e != (Notice{Text: "n"}) {
		t.Errorf("a field of a later version: %v, %v", e, err)
	}
	if _, err := Marshal(nil); err == nil {
		t.Error("no event was encoded")
	}
}

// hinted is an error with a hint.
type hinted struct{ error }

func (hinted) Hint() string    { return "wait" }
func (h hinted) Unwrap() error { return h.error }

func TestErr(t *testing.T) {
	cause := hinted{session.ErrBusy}
	for _, e := range []Event{ModelRetrying{}, ModelSwitched{}, ModelFinished{}, TurnFinished{}, Result{}, SubagentEvent{Event: Result{}}} {
		with := WithErr(e, cause)
		if Err(e) != nil || !errors.Is(Err(with), session.ErrBusy) {
			t.Errorf("%T: %v, %v", e, Err(e), Err(with))
		}
		b, err := Marshal(with)
		if err != nil || !strings.Contains(string(b), `"hint":"wait"`) {
			t.Errorf("%s, %v", b, err)
		}
	}
	if e := WithErr(Notice{Text: "n"}, cause); e != (Notice{Text: "n"}) || Err(e) != nil {
		t.Error("a notice has an error")
	}
	if e := (&Error{Message: cause.Error(), Advice: "h", Code: "busy", Cause: cause}); !errors.Is(e, session.ErrBusy) || e.Hint() != "h" || e.Error() != cause.Error() {
		t.Errorf("%+v", e)
	}
}

func FuzzUnmarshal(f *testing.F) {
	for in := range cases() {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		e, err := Unmarshal(in)
		if err != nil {
			return
		}
		b, err := Marshal(e)
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		again, err := Unmarshal(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if twice, err := Marshal(again); err != nil || string(twice) != string(b) {
			t.Fatalf("%v\nfirst  %s\nsecond %s", err, b, twice)
		}
	})
}
