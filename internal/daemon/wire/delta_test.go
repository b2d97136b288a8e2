package wire

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// What a delta says comes back as it was.
func TestDeltaRoundTrip(t *testing.T) {
	exit := 3
	usage := transcript.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 1}
	failed := &DeltaError{Message: "no", Code: "failed"}
	for _, e := range []agent.Event{
		agent.SessionOpened{ID: "s", Created: true},
		agent.SessionOpened{ID: "s", Forked: "p", Tools: []string{"Read"}, Items: 4, Notices: []string{"mended"}, Recovery: &session.Recovery{Session: "s", Cut: 7, Kept: "/k"}},
		agent.TextDelta{Text: "a <b>\x1b[0m"},
		agent.ThinkingDelta{Text: "hm"},
		agent.ToolInputDelta{Use: "u", Tool: "Bash", JSON: `{"comm`},
		agent.ToolFinished{Use: "u", Tool: "Bash", Took: time.Second, Result: tool.Result{IsError: true, ExitCode: &exit, Notes: []string{"refused"}}},
		agent.Retrying{Err: failed, Attempt: 2, Delay: 1500 * time.Millisecond},
		agent.ModelSwitched{From: "a/b", To: "c/d", Err: failed},
		agent.ModelStarted{Provider: "p", Model: "m", Attempt: 1},
		agent.ModelFinished{Provider: "p", Model: "m", Usage: &usage, Finish: transcript.FinishStop, Took: time.Second},
		agent.UsageUpdated{Model: "m", Usage: usage, Total: usage, CostUSD: 0.5},
		agent.Compacting{Trigger: "manual"},
		agent.MutationFinished{By: "compact", Moment: agent.AfterTurnEnded, Dirty: true, Before: 9, After: 2, Trigger: "auto", TokensBefore: 90, TokensAfter: 20},
		agent.Notice{Text: "n"},
		agent.Notified{Title: "t", Body: "b", Level: "warning", By: "h"},
		agent.HookRan{Ran: hook.Ran{Event: hook.Stop, Tool: "x", Quiet: 2}, Notices: []hook.Said{{By: "h", What: "w"}}, Terminal: []string{"\a"}},
		agent.Result{
			SessionID: "s", Turn: "turn-1", Reason: agent.ReasonFailed, Text: "t", Err: failed, Turns: 2, Usage: usage, CostUSD: 1,
			ByModel: map[string]agent.ModelUsage{"m": {Usage: usage, CostUSD: 1, Calls: 2}},
			Denials: []policy.Decision{{Use: "u", Tool: "Bash", Effect: policy.Deny, By: "nobody"}},
			Took:    time.Minute, TookModel: time.Second, Finish: transcript.FinishStop,
		},
		agent.Result{Reason: agent.ReasonHook, Err: &agent.HookError{Event: hook.Stop, By: "h", Reason: "r"}, ByModel: map[string]agent.ModelUsage{}},
	} {
		typ, b, err := EncodeDelta(e)
		if err != nil || typ == "" {
			t.Fatalf("%T: %q, %v", e, typ, err)
		}
		back, err := DecodeDelta(typ, b)
		if err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s: %s\ngot  %#v, %v\nwant %#v", typ, b, back, err, e)
		}
	}
}

// What is wholly on record is no delta.
func TestNoDelta(t *testing.T) {
	for _, e := range []agent.Event{
		agent.TurnStarted{},
		agent.ItemAppended{},
		agent.Decided{},
		agent.ApprovalAsked{},
		agent.ApprovalResolved{},
		agent.PolicyChanged{},
		agent.ToolStarted{},
		agent.TurnFinished{},
		agent.ToolsChanged{},
	} {
		if typ, b, err := EncodeDelta(e); typ != "" || b != nil || err != nil {
			t.Errorf("%T is %q %s, %v", e, typ, b, err)
		}
	}
}

// An error keeps its outcome and what to do about it.
func TestDeltaError(t *testing.T) {
	typ, b, err := EncodeDelta(agent.Result{Reason: agent.ReasonFailed, Err: &model.Error{Kind: model.ErrorAuth, Provider: "anthropic"}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := DecodeDelta(typ, b)
	if err != nil {
		t.Fatal(err)
	}
	r, ok := e.(agent.Result)
	if !ok || r.Err == nil || outcome.Hint(r.Err) != "set ANTHROPIC_API_KEY" || outcome.Of(r.Err) != outcome.Failed {
		t.Errorf("%#v", e)
	}
	if got := outcome.Of(&DeltaError{Code: "busy"}); got != outcome.Busy {
		t.Errorf("busy is %v", got)
	}
	if got := outcome.Of(&DeltaError{Code: "of a later version"}); got != outcome.Failed {
		t.Errorf("an unknown code is %v", got)
	}
	for _, bad := range [][2]string{{"nothing", "{}"}, {"notice", "["}, {"", "{}"}} {
		if e, err := DecodeDelta(bad[0], []byte(bad[1])); err == nil || e != nil {
			t.Errorf("%q passes: %v", bad, e)
		}
	}
}

func FuzzDecodeDelta(f *testing.F) {
	f.Add("result", []byte(`{"reason":"completed","by_model":{"m":{}}}`))
	f.Add("hook_ran", []byte(`{"said":[{}]}`))
	f.Fuzz(func(t *testing.T, typ string, b []byte) {
		e, err := DecodeDelta(typ, b)
		if (e == nil) == (err == nil) {
			t.Fatalf("%v, %v", e, err)
		}
	})
}
