package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// sayings are texts with who said them: "a: text".
func sayings(list []Text) string {
	var s []string
	for _, x := range list {
		s = append(s, x.Hook+": "+x.Text)
	}
	return strings.Join(s, "; ")
}

// named are functions "a", "b" … that each say an output.
func named(e Event, outputs []*Output) []Definition {
	list := make([]Definition, len(outputs))
	for i, o := range outputs {
		list[i] = Definition{Event: e, Name: string(rune('a' + i)), Func: returns(o)}
	}
	return list
}

func fired(t *testing.T, e Event, outputs ...*Output) Outcome {
	t.Helper()
	return registryOf(t, says, named(e, outputs)...).Fire(t.Context(), Input{Event: e, Tool: ToolCall{Name: "Bash", UseID: "u"}})
}

func TestBlock(t *testing.T) {
	for name, tt := range map[string]struct {
		event   Event
		outputs []*Output
		want    string // "-" for no block
		notices string
	}{
		"nobody":                   {PreToolUse, []*Output{{Message: "m"}, nil}, "-", "a: m"},
		"the blocker's message":    {PreToolUse, []*Output{{Message: "log line"}, {Block: true, Message: "real"}}, "b: real", "a: log line"},
		"its reason first":         {PreToolUse, []*Output{{Block: true, Message: "m", Reason: "r"}}, "a: r", "a: m"},
		"no words":                 {PreToolUse, []*Output{{Block: true}}, "a: ", ""},
		"no words, others have":    {PreToolUse, []*Output{{Block: true}, {Message: "m"}}, "a: ", "b: m"},
		"the first of two":         {PreToolUse, []*Output{{Block: true, Reason: "1"}, {Block: true, Reason: "2"}}, "a: 1", "b: also blocks: 2"},
		"decision":                 {Stop, []*Output{{Decision: "block", Reason: "go on"}}, "a: go on", ""},
		"block and approve":        {Stop, []*Output{{Block: true, Decision: "approve", Reason: "r"}}, "a: r", ""},
		"suppressed":               {PreToolUse, []*Output{{Message: "m", SuppressOutput: true}}, "-", ""},
		"a reason for nothing":     {Stop, []*Output{{Reason: "r"}, {StopReason: "s", PermissionReason: "p"}}, "-", "a: gave a reason without a decision: r; b: gave a reason without a decision: p; b: gave a reason without a decision: s"},
		"an approval's reason":     {Stop, []*Output{{Decision: "approve", Reason: "r"}}, "-", ""},
		"warning":                  {PreToolUse, []*Output{{Warning: "w", SuppressOutput: true}}, "-", "a: w"},
		"of a permission request":  {PermissionRequest, []*Output{{Block: true, Reason: "r"}}, "a: r", ""},
		"where nothing is blocked": {SessionStart, []*Output{{Block: true, Reason: "r"}}, "-", "a: its result is ignored: SessionStart does not support a block: r"},
	} {
		t.Run(name, func(t *testing.T) {
			out := fired(t, tt.event, tt.outputs...)
			got := "-"
			if out.Block != nil {
				got = sayings([]Text{*out.Block})
			}
			if got != tt.want {
				t.Errorf("block %q, want %q", got, tt.want)
			}
			if got := sayings(out.Notices); got != tt.notices {
				t.Errorf("notices %q, want %q", got, tt.notices)
			}
		})
	}
}

func TestPermissionOfSeveral(t *testing.T) {
	p := func(behavior, reason string) *Output { return &Output{Permission: behavior, PermissionReason: reason} }
	for name, tt := range map[string]struct {
		event   Event
		outputs []*Output
		want    string
		notices string
	}{
		"one":                     {PreToolUse, []*Output{p("allow", "fine")}, "a allow fine", ""},
		"deny is the strongest":   {PreToolUse, []*Output{p("ask", ""), p("deny", "1"), p("defer", ""), p("deny", "2"), p("allow", "")}, "b deny 1", ""},
		"defer before ask":        {PreToolUse, []*Output{p("allow", ""), p("ask", ""), p("defer", "d")}, "c defer d", ""},
		"ask before allow":        {PreToolUse, []*Output{p("allow", ""), p("ask", "q"), p("ask", "p")}, "b ask q", ""},
		"approve":                 {PreToolUse, []*Output{{Decision: "approve", Reason: "ok"}}, "a allow ok", ""},
		"reason":                  {PreToolUse, []*Output{{Permission: "deny", Reason: "r", Message: "m"}}, "a deny r", "a: m"},
		"message":                 {PreToolUse, []*Output{{Permission: "deny", Message: "m"}}, "a deny m", ""},
		"message of an allow":     {PreToolUse, []*Output{{Permission: "allow", Message: "m"}}, "a allow ", "a: m"},
		"block leaves it as said": {PreToolUse, []*Output{{Block: true, Permission: "allow"}}, "a allow ", ""},
		"of a request":            {PermissionRequest, []*Output{p("allow", ""), p("deny", "no")}, "b deny no", ""},
		"question to a question":  {PermissionRequest, []*Output{p("ask", "")}, "", `a: its permission "ask" is ignored: a permission request can only be allowed or denied`},
		"defer of a question":     {PermissionRequest, []*Output{p("defer", ""), p("allow", "")}, "b allow ", `a: its permission "defer" is ignored: a permission request can only be allowed or denied`},
		"elsewhere":               {PostToolUse, []*Output{p("deny", "")}, "", "a: its result is ignored: PostToolUse does not support a permission"},
		"approval elsewhere":      {Stop, []*Output{{Decision: "approve"}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := fired(t, tt.event, tt.outputs...)
			got := ""
			if out.Permission != "" {
				got = out.PermissionHook + " " + out.Permission + " " + out.PermissionReason
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := sayings(out.Notices); got != tt.notices {
				t.Errorf("notices %q, want %q", got, tt.notices)
			}
		})
	}
}

// Each field of an output that is not about blocks and permissions.
func TestMerge(t *testing.T) {
	note := &UserNotification{Title: "t", Body: "b", Level: "bogus"}
	for name, tt := range map[string]struct {
		event   Event
		outputs []*Output
		want    Outcome
		effect  string
	}{
		"context":                {Stop, []*Output{{Context: "c", SystemMessage: "s"}, {Context: "d"}}, Outcome{Context: []Text{{"a", "c"}, {"a", "s"}, {"b", "d"}}}, "context"},
		"another input":          {PreToolUse, []*Output{{Input: json.RawMessage(`{"a":1}`)}}, Outcome{Input: json.RawMessage(`{"a":1}`), InputHook: "a"}, "input"},
		"another result":         {PostToolUse, []*Output{{ToolOutput: json.RawMessage(`{"a":1}`)}}, Outcome{ToolOutput: json.RawMessage(`{"a":1}`)}, "output"},
		"stop":                   {PostToolUse, []*Output{{Stop: true, StopReason: "enough", Reason: "r"}, {Stop: true}}, Outcome{Stop: &Text{"a", "enough"}}, "stop"},
		"stop for a reason":      {Stop, []*Output{{Stop: true, Reason: "r"}}, Outcome{Stop: &Text{"a", "r"}}, "stop"},
		"notes":                  {PreCompact, []*Output{{Notification: note}, {Notification: &UserNotification{Level: "error"}}}, Outcome{Notifications: []UserNotification{{Title: "t", Body: "b", Level: "info"}, {Level: "error"}}}, ""},
		"updates":                {Stop, []*Output{{Updates: []PermissionUpdate{{Mode: "plan"}}}}, Outcome{Updates: []PermissionUpdate{{Mode: "plan", Hook: "a"}}}, ""},
		"retry":                  {PermissionDenied, []*Output{{}, {Retry: true}}, Outcome{Retry: true}, ""},
		"terminal":               {Notification, []*Output{{TerminalSequence: "\x07"}, {TerminalSequence: "\x1b]0;x\x07"}}, Outcome{Terminal: []string{"\x07", "\x1b]0;x\x07"}}, ""},
		"start":                  {SessionStart, []*Output{{SessionTitle: "1", InitialMessage: "i"}, {SessionTitle: "2", WatchPaths: []string{"p"}}, {WatchPaths: []string{"q"}}}, Outcome{SessionTitle: "2", InitialMessage: "i", WatchPaths: []string{"p", "q"}}, ""},
		"paths":                  {CwdChanged, []*Output{{WatchPaths: []string{"p"}}}, Outcome{WatchPaths: []string{"p"}}, ""},
		"worktree":               {WorktreeCreate, []*Output{{WorktreePath: "/w"}}, Outcome{WorktreePath: "/w"}, ""},
		"prompt":                 {UserPromptSubmit, []*Output{{SessionTitle: "t", Block: true, Reason: "r", HidePrompt: true}}, Outcome{SessionTitle: "t", SuppressPrompt: true, Block: &Text{"a", "r"}}, "block"},
		"prompt, hidden for all": {UserPromptSubmit, []*Output{{HidePrompt: true}}, Outcome{}, ""},
		"interrupt": {
			PermissionRequest,
			[]*Output{{Permission: "deny", Interrupt: true}},
			Outcome{Permission: "deny", PermissionHook: "a", Interrupt: true},
			"deny",
		},
		"the first effect": {
			PreToolUse,
			[]*Output{{Context: "c", Stop: true, Input: json.RawMessage(`{}`), Permission: "allow"}},
			Outcome{
				Context: []Text{{"a", "c"}}, Stop: &Text{Hook: "a"}, Input: json.RawMessage(`{}`), InputHook: "a",
				Permission: "allow", PermissionHook: "a",
			},
			"allow",
		},
		"answers to a server": {
			Elicitation,
			[]*Output{{Action: "accept", Content: json.RawMessage(`{"a":1}`)}, {Action: "accept", Content: json.RawMessage(`{"a":2}`)}},
			Outcome{Action: &Text{Hook: "b", Text: "accept"}, Content: json.RawMessage(`{"a":2}`)},
			"accept",
		},
		"a no to a server": {
			ElicitationResult,
			[]*Output{{Action: "accept", Content: json.RawMessage(`{}`)}, {Action: "cancel"}, {Action: "decline"}, {Action: "accept"}},
			Outcome{Action: &Text{Hook: "b", Text: "cancel"}},
			"accept",
		},
		"nothing": {Stop, []*Output{nil, {}}, Outcome{}, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			got := fired(t, tt.event, tt.outputs...)
			effect := "-"
			for _, h := range got.Ran.Hooks[:min(1, len(got.Ran.Hooks))] {
				effect = h.Effect
			}
			if effect != tt.effect {
				t.Errorf("effect %q, want %q", effect, tt.effect)
			}
			tt.want.Event, tt.want.Ran, tt.want.Outputs = tt.event, got.Ran, got.Outputs
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// What an event cannot use is told, and does nothing.
func TestUnusable(t *testing.T) {
	outputs := map[effectSet]*Output{
		canBlock: {Block: true}, canPermit: {Permission: "allow"}, canInput: {Input: json.RawMessage(`{}`)},
		canOutput: {ToolOutput: json.RawMessage(`1`)}, canAddContext: {Context: "c"}, canStop: {Stop: true},
		canRetry: {Retry: true}, canSetTitle: {SessionTitle: "t"}, canSetInitialMessage: {InitialMessage: "m"},
		canWatch: {WatchPaths: []string{"p"}}, canWorktree: {WorktreePath: "w"}, canHidePrompt: {HidePrompt: true},
		canAnswer:    {Action: "accept"},
		canInterrupt: {Interrupt: true},
	}
	for _, info := range events {
		for _, x := range effects {
			out := fired(t, info.Event, outputs[x.can])
			vain := fmt.Sprintf("its result is ignored: %[2]s does not support %[1]s", x.name, info.Event)
			if eventEffects(info)&x.can != 0 {
				if s := sayings(out.Notices); strings.Contains(s, vain) {
					t.Errorf("%s, %s: told %q", info.Event, x.name, s)
				}
				continue
			}
			if s := sayings(out.Notices); s != "a: "+vain {
				t.Errorf("%s, %s: told %q, want %q", info.Event, x.name, s, vain)
			}
			out.Notices, out.Outputs, out.Ran = nil, nil, nil
			if !reflect.DeepEqual(out, Outcome{Event: info.Event}) {
				t.Errorf("%s, %s: it had an effect: %+v", info.Event, x.name, out)
			}
		}
	}
}

func TestRequestsInputNeedsAllow(t *testing.T) {
	out := fired(t, PermissionRequest, &Output{Permission: "deny", Input: json.RawMessage(`{}`)}, &Output{Permission: "allow", Interrupt: true})
	want := "a: its new input is ignored: it did not allow the call; b: its interrupt is ignored: it did not deny the call"
	if got := sayings(out.Notices); out.Input != nil || out.Interrupt || got != want {
		t.Errorf("got %+v", out)
	}
}

func TestLongTexts(t *testing.T) {
	out := fired(t, Stop, &Output{Context: strings.Repeat("é", maxText)}, &Output{Context: strings.Repeat("é", maxText+1), Message: strings.Repeat("m", 200_000)})
	if len([]rune(out.Context[1].Text)) != maxText || out.Context[0].Text != out.Context[1].Text {
		t.Errorf("%d and %d bytes", len(out.Context[0].Text), len(out.Context[1].Text))
	}
	if n := out.Notices; len(n) != 2 || !strings.Contains(n[0].Text, "cut after 10000") || len(n[1].Text) != 200_000 {
		t.Errorf("%d notices", len(n))
	}
}

// What the model and the log get of a reason is bounded as other texts are.
func TestLongReasons(t *testing.T) {
	long := strings.Repeat("é", maxText+1)
	out := fired(t, PreToolUse, &Output{Block: true, Message: long, Permission: "deny", PermissionReason: long, Stop: true, StopReason: long})
	for _, text := range []string{out.Block.Text, out.PermissionReason, out.Stop.Text} {
		if text != long[:2*maxText] {
			t.Errorf("%d bytes", len(text))
		}
	}
}

func TestUnsafeSequences(t *testing.T) {
	for _, s := range []string{"\x1b[2J", "\x1b]52;c;aGk=\x07", "text", "\x07text", strings.Repeat("\x07", 4097)} {
		out := fired(t, Stop, &Output{TerminalSequence: s})
		if len(out.Terminal) != 0 || len(out.Notices) != 1 {
			t.Errorf("%q: %+v", s, out)
		}
	}
}

func TestRan(t *testing.T) {
	code := 2
	run := runFunc(func(_ context.Context, d *Definition, _ *Input) (RunResult, error) {
		return RunResult{Output: &Output{Block: true, Reason: d.Command}, Exit: &code, Notice: "n"}, nil
	})
	list := append(named(PreToolUse, []*Output{nil, {}, {Context: "c"}}),
		Definition{Event: PreToolUse, Command: "x\ny", Digest: "d"})
	list[3].Origin.File, list[3].Origin.Line = "f.json", 7
	out := registryOf(t, run, list...).Fire(t.Context(), Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash", UseID: "u"}})
	want := &record.HookRan{Event: string(PreToolUse), Tool: "Bash", Use: "u", Silent: 2, Hooks: []record.HookRun{
		{Name: "c", Type: typeFunction, Effect: "context"},
		{Name: "x …", Type: typeCommand, Digest: "d", Source: "f.json:7", Exit: &code, Effect: "block", Reason: "x\ny"},
	}}
	for i := range out.Ran.Hooks {
		out.Ran.Hooks[i].Millis = 0
	}
	if !reflect.DeepEqual(out.Ran, want) {
		t.Errorf("got  %+v\nwant %+v", out.Ran, want)
	}
	if len(out.Outputs) != 2 || sayings(out.Notices) != "x …: n" {
		t.Errorf("outputs %v, notices %q", out.Outputs, sayings(out.Notices))
	}
}
