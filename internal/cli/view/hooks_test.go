package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

func ranHook(exit int, effect, failure string) event.HookRan {
	return event.HookRan{
		Ran: record.HookRan{Event: string(hook.PreToolUse), Use: "u1", Tool: "Bash", Hooks: []record.HookRun{{
			Name: "./check.sh", Type: "command", Source: "/w/s.json:3", Millis: 12, Exit: &exit, Effect: effect, Error: failure,
		}}, Messages: []record.HookNotice{{Hook: "./check.sh", Text: "mind\x1b[2J the gap"}}},
	}
}

var errHook = &event.Error{HookEvent: string(hook.UserPromptSubmit), Hook: "./ask.sh", HookReason: "not today"}

func TestHooksInText(t *testing.T) {
	for _, tt := range []struct {
		name                string
		tty, quiet, verbose bool
		event               event.Event
		want                string
	}{
		{"a notice", false, false, false, ranHook(0, "", ""), "· hook ./check.sh: mind\\x1b[2J the gap\n"},
		{"quiet", false, true, false, ranHook(0, "", ""), ""},
		{"verbose", false, false, true, ranHook(2, "block", ""), "· hook PreToolUse ./check.sh: block, exit 2, 12 ms\n· hook ./check.sh: mind\\x1b[2J the gap\n"},
		{"a failure", false, false, true, ranHook(1, "", "it broke"), "· hook PreToolUse ./check.sh: failed, exit 1, 12 ms\n· hook ./check.sh: mind\\x1b[2J the gap\n"},
		{"a terminal's title", true, true, false, event.TerminalSequences{Sequences: []string{"\x1b]0;title\a"}}, "\x1b]0;title\a"},
		{"no terminal", false, true, false, event.TerminalSequences{Sequences: []string{"\x1b]0;title\a"}}, ""},
		{"a notification", false, false, false, event.Notification{Title: "done", Body: "all\nof it", Level: "info", By: "./n.sh"}, "· done: all; of it (hook ./n.sh)\n"},
		{"without a title", false, false, false, event.Notification{Body: "asked", Level: "warning"}, "· asked\n"},
		{"quiet notification", false, true, false, event.Notification{Body: "asked", Level: "info"}, ""},
		{"an error is printed", false, true, false, event.Notification{Body: "broken", Level: "error"}, "· broken\n"},
		{"a blocked prompt", false, true, false, event.Result{Reason: event.ReasonHook, Err: errHook}, "holdfast: a hook stopped the run (UserPromptSubmit, ./ask.sh): not today\n"},
		{"without a reason", false, true, false, event.Result{Reason: event.ReasonHook, Err: &event.Error{HookEvent: string(hook.Stop), Hook: "f"}}, "holdfast: a hook stopped the run (Stop, f)\n"},
		{"another error", false, true, false, event.Result{Reason: event.ReasonHook, Err: errors.New("x")}, "holdfast: a hook stopped the run\n"},
		{"put off", false, true, false, event.Result{Reason: event.ReasonDeferred}, "holdfast: a hook deferred a call until the session is resumed\n"},
	} {
		p, b := screen(t, tt.tty)
		v := &Text{Program: p, Quiet: tt.quiet, Verbose: tt.verbose}
		v.names = map[string]string{}
		if err := v.Render(tt.event); err != nil || b.String() != tt.want {
			t.Errorf("%s: got %q, want %q (%v)", tt.name, b.String(), tt.want, err)
		}
	}
}

// A hook that fails in the same way at every call is reported in full once.
func TestRepeatedFailuresOfHooks(t *testing.T) {
	p, b := screen(t, false)
	v := &Text{Program: p, names: map[string]string{}}
	e := ranHook(1, "", "it broke")
	e.Ran.Messages[0].Text = "it broke\n  in two lines"
	for range 2 {
		if err := v.Render(e); err != nil {
			t.Fatal(err)
		}
	}
	e.Ran.Messages[0].Text = "in another way"
	if err := v.Render(e); err != nil {
		t.Fatal(err)
	}
	want := "· hook ./check.sh: it broke\n      in two lines\n· hook ./check.sh: failed again with the same error\n· hook ./check.sh: in another way\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// The text says why the agent continues after it was done.
func TestStopHookInText(t *testing.T) {
	p, b := screen(t, false)
	v := &Text{Program: p, names: map[string]string{}}
	err := v.Render(event.HookRan{Ran: record.HookRan{Event: string(hook.Stop), Hooks: []record.HookRun{
		{Name: "$CLAUDE_PROJECT_DIR/test.sh", Effect: "block", Reason: "tests fail"}, {Name: "b", Effect: "block"}, {Name: "c"},
	}}})
	if want := "· hook test.sh keeps the agent working: tests fail\n· hook b keeps the agent working: continue\n"; err != nil || b.String() != want {
		t.Errorf("got %q, want %q (%v)", b.String(), want, err)
	}
}

func TestHooksInStream(t *testing.T) {
	var out bytes.Buffer
	p := &command.Program{Stdout: &out}
	p.SetDefaults()
	v := &Stream{Program: p, All: true, StartedAt: time.Now()}
	v.Start(Header{Mode: func() policy.Mode { return policy.ModeDefault }})
	use := transcript.Item{ID: "1", Role: transcript.RoleAssistant, Parts: []transcript.Part{
		transcript.ToolUse{ID: "u1", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)},
	}}.MustEncode()

	for _, e := range []event.Event{
		event.ItemAppended{Item: use},
		ranHook(0, "defer", ""), ranHook(1, "", "it broke"),
		event.Notification{Title: "t", Body: "b", Level: "warning", By: "f"},
		event.Result{Reason: event.ReasonDeferred},
		event.Result{Reason: event.ReasonHook, Err: errHook},
	} {
		if err := v.Render(e); err != nil {
			t.Fatal(err)
		}
	}
	var lines []map[string]any
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, m)
	}
	for _, tt := range []struct {
		line int
		want map[string]any
	}{
		{1, map[string]any{
			"type": "system", "subtype": "hook_response", "hook_name": "PreToolUse:Bash", "hook_event": "PreToolUse", "outcome": "success",
			"exit_code": 0.0, "effect": "defer", "hook": "./check.sh", "hook_type": "command", "duration_ms": 12.0, "tool_use_id": "u1", "source": "/w/s.json:3",
		}},
		{2, map[string]any{"subtype": "informational", "hook": "./check.sh", "content": "mind\x1b[2J the gap"}},
		{3, map[string]any{"subtype": "hook_response", "outcome": "error", "error": "it broke", "effect": nil}},
		{5, map[string]any{"subtype": "notification", "title": "t", "body": "b", "level": "warning", "hook": "f"}},
		{6, map[string]any{"type": "result", "subtype": "success", "is_error": false, "stop_reason": "tool_deferred", "terminal_reason": "deferred", "errors": nil}},
		{7, map[string]any{"type": "result", "subtype": "error_during_execution", "is_error": true, "stop_reason": "hook", "terminal_reason": "hook"}},
	} {
		for key, want := range tt.want {
			if got := lines[tt.line][key]; got != want {
				t.Errorf("line %d: %s is %v, want %v", tt.line, key, got, want)
			}
		}
	}
	put, ok := lines[6]["deferred_tool_use"].(map[string]any)
	if !ok || put["id"] != "u1" || put["name"] != "Bash" {
		t.Errorf("%v", lines[6])
	}
	if put, ok := put["input"].(map[string]any); !ok || put["command"] != "ls" {
		t.Errorf("%v", put)
	}
	if _, ok := lines[0]["uuid"]; !ok || len(lines) != 8 {
		t.Errorf("%d lines", len(lines))
	}
}
