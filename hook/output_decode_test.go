package hook

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/terminalseq"
)

func TestDecodeOutput(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, c := range []struct {
		dialect string
		event   Event
		stdout  string
		want    Output
		notices []string // parts of them, in order
	}{
		{dialectClaude, PreToolUse, `{}`, Output{}, nil},
		{
			dialectClaude, PreToolUse, `{"continue": false, "stopReason": "enough", "suppressOutput": true, "systemMessage": "careful"}`,
			Output{Stop: true, StopReason: "enough", SuppressOutput: true, Warning: "careful"},
			nil,
		},
		{dialectClaude, PreToolUse, `{"continue": true, "reason": null, "decision": null}`, Output{}, nil},
		{dialectClaude, PreToolUse, `{"decision": "block", "reason": "no"}`, Output{Decision: "block", Block: true, Reason: "no"}, nil},
		{dialectClaude, PreToolUse, `{"decision": "approve", "reason": "fine"}`, Output{Decision: "approve", Reason: "fine"}, nil},
		{dialectClaude, PreToolUse, `{"decision": "approve", "block": true}`, Output{Decision: "approve", Block: true}, nil},
		{
			dialectClaude, PreToolUse, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "why",
			"updatedInput": {"command": "ls"}, "additionalContext": "ctx"}}`,
			Output{Permission: "deny", PermissionReason: "why", Input: raw(`{"command": "ls"}`), Context: "ctx"},
			nil,
		},
		{dialectClaude, PreToolUse, `{"hookSpecificOutput": {"permissionDecision": "defer"}}`, Output{Permission: "defer"}, []string{"has no hookEventName and is treated as PreToolUse"}},
		{
			dialectClaude, PreToolUse, `{"permissionDecision": "allow", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}`,
			Output{Permission: "deny"},
			nil,
		},
		{
			dialectClaude, PreToolUse, `{"message": "m", "block": true, "permissionDecision": "ask", "updatedInput": {}, "additionalContext": "c",
			"notification": {"title": "t", "body": "b", "level": "warning"}, "permissionUpdate": {"tool": "Bash", "behavior": "deny"}}`,
			Output{
				Message: "m", Block: true, Permission: "ask", Input: raw(`{}`), Context: "c",
				Notification: &UserNotification{Title: "t", Body: "b", Level: "warning"}, Updates: []PermissionUpdate{{Rules: []string{"Bash"}, Behavior: "deny"}},
			},
			nil,
		},
		{dialectClaude, PreToolUse, `{"desicion": "block"}`, Output{}, []string{`unknown field "desicion" in the output; did you mean decision?`}},
		{dialectClaude, PreToolUse, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "frob": 1}}`, Output{}, []string{`"hookSpecificOutput.frob"`}},
		{
			dialectClaude, PostToolUse, `{"decision": "block", "reason": "r", "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "c",
			"updatedToolOutput": {"a": 1}, "updatedMCPToolOutput": "x", "classifierContext": "y"}}`,
			Output{Decision: "block", Block: true, Reason: "r", Context: "c", ToolOutput: raw(`{"a": 1}`)},
			[]string{"no classifier", "updatedToolOutput is also set"},
		},
		{dialectClaude, PostToolUse, `{"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedMCPToolOutput": [1]}}`, Output{ToolOutput: raw(`[1]`)}, nil},
		{
			dialectClaude, PermissionRequest, `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow", "updatedInput": {"x": 1},
			"updatedPermissions": [{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}, {"toolName": "Read"}], "behavior": "allow", "destination": "session"},
			{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]}}}`,
			Output{
				Permission: "allow", Input: raw(`{"x": 1}`),
				Updates: []PermissionUpdate{{Rules: []string{"Bash(ls:*)", "Read"}, Behavior: "allow"}, {Mode: "acceptEdits"}},
			},
			nil,
		},
		{
			dialectClaude, PermissionRequest, `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "no", "interrupt": true}}}`,
			Output{Permission: "deny", PermissionReason: "no", Interrupt: true},
			nil,
		},
		{
			dialectClaude, PermissionRequest, `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "updatedInput": {}}}}`,
			Output{Permission: "deny"},
			[]string{"cannot be combined with deny"},
		},
		{
			dialectClaude, PermissionRequest, `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow", "updatedPermissions": [
			{"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "userSettings"},
			{"type": "replaceRules", "rules": [], "behavior": "allow", "destination": "session"},
			{"type": "addDirectories", "directories": ["/x"], "destination": "session"},
			{"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "ask", "destination": "session"},
			{"type": "addRules", "rules": [], "behavior": "allow"},
			{"type": "setMode", "mode": "yolo"}]}}}`,
			Output{Permission: "allow"},
			[]string{`not "userSettings"`, `cannot make the change "replaceRules"`, `cannot make the change "addDirectories"`, `behavior is "ask"`, "it has no tool", `unknown mode "yolo"`},
		},
		{dialectClaude, PermissionDenied, `{"hookSpecificOutput": {"hookEventName": "PermissionDenied", "retry": true}}`, Output{Retry: true}, nil},
		{
			dialectClaude, UserPromptSubmit, `{"decision": "block", "reason": "r", "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "sessionTitle": "t", "suppressOriginalPrompt": true}}`,
			Output{Decision: "block", Block: true, Reason: "r", SessionTitle: "t", HidePrompt: true},
			nil,
		},
		{
			dialectClaude, SessionStart, `{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "c", "initialUserMessage": "hi", "watchPaths": ["/a", "b"], "reloadSkills": true}}`,
			Output{Context: "c", InitialMessage: "hi", WatchPaths: []string{"/a", "b"}},
			[]string{"skills cannot be reloaded"},
		},
		{dialectClaude, WorktreeCreate, `{"hookSpecificOutput": {"hookEventName": "WorktreeCreate", "worktreePath": "/w"}}`, Output{WorktreePath: "/w"}, nil},
		{dialectClaude, Stop, `{"async": false}`, Output{}, nil},
		{dialectClaude, Stop, `{"terminalSequence": "\u001b]0;title\u0007\u0007"}`, Output{TerminalSequence: "\x1b]0;title\a\a"}, nil},
		{dialectClaude, Stop, `{"terminalSequence": "\u001b[2J"}`, Output{}, []string{"is not sent"}},
		{dialectClaude, Stop, `{"reason": "` + strings.Repeat("é", 10_001) + `"}`, Output{Reason: strings.Repeat("é", 10_000)}, []string{"cut to 10000 characters"}},
		{dialectClaude, Stop, `{"reason": "` + strings.Repeat("é", 10_000) + `"}`, Output{Reason: strings.Repeat("é", 10_000)}, nil},

		{
			dialectSeed, PreToolUse, `{"message": "m", "systemMessage": "s", "reason": "r", "decision": "block", "updatedInput": {"a": 1}, "additionalContext": "c"}`,
			Output{Message: "m", SystemMessage: "s", Reason: "r", Decision: "block", Block: true, Input: raw(`{"a": 1}`), Context: "c"},
			nil,
		},
		{dialectSeed, PreToolUse, `{"block": true, "decision": "approve"}`, Output{Decision: "approve"}, nil},
		{dialectSeed, PreToolUse, `{"block": false, "decision": "block"}`, Output{Decision: "block", Block: true}, nil},
		{
			dialectSeed, PreToolUse, `{"permissionDecision": "deny", "permissionUpdate": {"tool": "Bash", "behavior": "allow"}}`,
			Output{Permission: "deny", Updates: []PermissionUpdate{{Rules: []string{"Bash"}, Behavior: "allow"}}},
			nil,
		},
		{dialectSeed, PostToolUse, `{"updatedMCPToolOutput": {"result": "x"}}`, Output{ToolOutput: raw(`{"result": "x"}`)}, nil},
		{dialectSeed, PreToolUse, `{"notification": {"title": "t", "body": "b", "level": "bogus"}}`, Output{Notification: &UserNotification{Title: "t", Body: "b", Level: "info"}}, nil},
		{dialectSeed, PreToolUse, `{"message": "m", "notification": {"title": "t"}}`, Output{Message: "m"}, []string{"needs a title and a body"}},
		{dialectSeed, PreToolUse, `{"message": "m", "permissionUpdate": {"tool": "Bash"}}`, Output{Message: "m"}, []string{"permissionUpdate is not applied"}},
		{dialectSeed, PreToolUse, `{"permissionUpdate": {"tool": "Bash", "behavior": "maybe"}}`, Output{}, []string{`behavior is "maybe"`}},
		{dialectSeed, PreToolUse, `{"hookSpecificOutput": {}}`, Output{}, []string{`has no hookEventName`}},
		{
			dialectSeed, PreToolUse, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}}`,
			Output{Permission: "deny", PermissionReason: "no"},
			nil,
		},
		{
			dialectSeed, PreToolUse, `{"hookSpecificOutput": {"hookEventName": "preToolUse", "updatedInput": {"a": 1}, "additionalContext": "c"}}`,
			Output{Input: raw(`{"a": 1}`), Context: "c"},
			nil,
		},
		{
			dialectSeed, PermissionRequest, `{"systemMessage": "s", "hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "no", "interrupt": true}}}`,
			Output{SystemMessage: "s", Permission: "deny", PermissionReason: "no", Interrupt: true},
			nil,
		},
		{dialectSeed, PostToolUse, `{"terminalSequence": "\u0007", "hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": "x"}}`, Output{TerminalSequence: "\a", ToolOutput: raw(`"x"`)}, nil},
		{dialectSeed, PreToolUse, `{"message": "` + strings.Repeat("a", 200_000) + `"}`, Output{Message: strings.Repeat("a", 200_000)}, nil},
	} {
		got, notices, err := decodeOutput(c.dialect, c.event, []byte(c.stdout))
		if err != nil {
			t.Errorf("%s %.200s: %v", c.dialect, c.stdout, err)
			continue
		}
		if d := cmp.Diff(&c.want, got); d != "" {
			t.Errorf("%s %.200s: %s", c.dialect, c.stdout, d)
		}
		if len(notices) != len(c.notices) {
			t.Errorf("%s %.200s: notices %q, want %q", c.dialect, c.stdout, notices, c.notices)
			continue
		}
		for i, part := range c.notices {
			if !strings.Contains(notices[i], part) {
				t.Errorf("%.200s: %q does not say %q", c.stdout, notices[i], part)
			}
		}
	}
}

func TestDecodeOutputRefuses(t *testing.T) {
	for _, c := range []struct {
		dialect     string
		stdout, say string
	}{
		{dialectClaude, `{"decision": "allow"}`, `decision: unknown value "allow"; want one of ["approve" "block"]`},
		{dialectClaude, `{"decision": 1}`, "want a string, not 1"},
		{dialectClaude, `{"reason": ["` + strings.Repeat("é", 60) + `"]}`, "want a string"},
		{dialectClaude, `{"continue": "no"}`, "want true or false"},
		{dialectClaude, `{"block": 1}`, "want true or false"},
		{dialectClaude, `{"hookSpecificOutput": []}`, "want an object"},
		{dialectClaude, `{"hookSpecificOutput": {"hookEventName": "Stop"}}`, `hookEventName is "Stop", but the event is PreToolUse`},
		{dialectClaude, `{"hookSpecificOutput": {"hookEventName": 5}}`, "want the name of an event"},
		{dialectClaude, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "yes"}}`, `unknown value "yes"`},
		{dialectClaude, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": "x"}}`, "want an object"},
		{dialectClaude, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "watchPaths": "x"}}`, "want a list of strings"},
		{dialectClaude, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "decision": {}}}`, `behavior: unknown value ""`},
		{dialectClaude, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "decision": {"behavior": "ask"}}}`, `unknown value "ask"`},
		{dialectClaude, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "decision": {"behavior": "allow", "updatedPermissions": {}}}}`, "want a list"},
		{dialectClaude, `{"permissionUpdate": {"tool": 5}}`, "want a change of permissions"},
		{dialectClaude, `{"terminalSequence": 1}`, "want a string"},
		{dialectSeed, `{"decision": "maybe"}`, "unknown value"},
		{dialectSeed, `{"notification": "x"}`, "want an object"},
		{dialectSeed, `[1]`, "not a JSON object"},
		{dialectSeed, `{"a":`, "not a JSON object"},
	} {
		got, _, err := decodeOutput(c.dialect, PreToolUse, []byte(c.stdout))
		if err == nil || got != nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, %v; want %q", c.stdout, got, err, c.say)
		}
	}
}

// What an answer refuses counts, however wrong the rest of it is; the rest does not.
func TestDecodeOutputKeepsRefusals(t *testing.T) {
	for _, c := range []struct {
		dialect     string
		stdout, say string
		want        Output
	}{
		{dialectClaude, `{"decision": "deny", "reason": "no"}`, `unknown value "deny"`, Output{Block: true, Reason: "no"}},
		{dialectClaude, `{"decision": "BLOCK"}`, "unknown value", Output{Block: true}},
		{dialectClaude, `{"decision": "block", "reason": 5, "updatedInput": {}, "additionalContext": "c"}`, "want a string", Output{Block: true}},
		{dialectSeed, `{"block": true, "message": "m", "notification": "x"}`, "want an object", Output{Block: true, Message: "m"}},
		{dialectClaude, `{"continue": false, "stopReason": "s", "suppressOutput": 1}`, "true or false", Output{Stop: true, StopReason: "s"}},
		{dialectClaude, `{"permissionDecision": "Deny"}`, "unknown value", Output{Permission: "deny"}},
		{
			dialectClaude, `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "permissionDecision": "deny", "permissionDecisionReason": "no"}}`,
			`hookEventName is "PermissionRequest"`,
			Output{Permission: "deny", PermissionReason: "no"},
		},
		{dialectClaude, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "block"}}`, "unknown value", Output{Permission: "deny"}},
		{dialectClaude, `{"hookSpecificOutput": {"decision": {"behavior": "DENY", "message": "no"}}}`, "unknown value", Output{Permission: "deny", PermissionReason: "no"}},
	} {
		got, notices, err := decodeOutput(c.dialect, PreToolUse, []byte(c.stdout))
		if err != nil {
			t.Errorf("%s: %v", c.stdout, err)
			continue
		}
		if d := cmp.Diff(&c.want, got); d != "" || !strings.Contains(strings.Join(notices, "\n"), c.say) {
			t.Errorf("%s: %s; %q", c.stdout, d, notices)
		}
	}
	for _, stdout := range []string{
		`{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "permissionDecision": "allow"}}`,
		`{"permissionDecision": "Allow"}`,
		`{"decision": "approve", "reason": 5}`,
	} {
		if out, _, err := decodeOutput(dialectClaude, PreToolUse, []byte(stdout)); err == nil {
			t.Errorf("%s: %+v", stdout, out)
		}
	}
}

// However much nonsense an answer holds, little is said about it, soon.
func TestDecodeOutputBoundsNotices(t *testing.T) {
	var many strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&many, `"field%d":1,`, i)
	}
	for _, stdout := range []string{"{" + many.String() + `"block":true}`, `{"` + strings.Repeat("x", 1<<20) + `":1,"block":true}`} {
		out, notices, err := decodeOutput(dialectClaude, Stop, []byte(stdout))
		if err != nil || !out.Block || len(notices) > maxNotices || len(strings.Join(notices, "")) > 20_000 {
			t.Errorf("%v, %d notices, %v", out, len(notices), err)
		}
	}
}

func TestTerminalSequences(t *testing.T) {
	for seq, want := range map[string]bool{
		"\a":                             true,
		"\x1b]0;title\a":                 true,
		"\x1b]2;täglich\x1b\\":           true,
		"\x1b]9;done\a\x1b]1;icon\x1b\\": true,
		"\x1b]99;i=1:d=0;Hello\x1b\\":    true,
		"\x1b]777;notify;T;B\a":          true,
		"\x1b]0\a":                       true,
		"\x1b]52;c;aGk=\a":               false, // the clipboard
		"\x1b]8;;http://x\a":             false,
		"\x1b]4;1;?\a":                   false, // the terminal would answer
		"\x1b]10;?\a":                    false,
		"\x1b]0;a\x1b[2Jb\a":             false,
		"\x1b]0;a\nb\a":                  false,
		"\x1b]0;open":                    false,
		"\u009d0;c1\a":                   false,
		"\x1b]0;a\u009cb\a":              false,
		"x\a":                            false,
		"\x1b[31m":                       false,
		"\x1bc":                          false,
		"\x1b]0;" + strings.Repeat("a", 5000) + "\a": false,
	} {
		raw, err := json.Marshal(map[string]string{"terminalSequence": seq})
		if err != nil {
			t.Fatal(err)
		}
		out, notices, err := decodeOutput(dialectClaude, Stop, raw)
		if err != nil || (out.TerminalSequence == seq) != want || (len(notices) == 0) != want {
			t.Errorf("%q: %+v, %q, %v", seq, out, notices, err)
		}
	}
}

func TestRuleText(t *testing.T) {
	for _, c := range []struct{ tool, text, want string }{
		{"Bash", "", "Bash"},
		{"Bash", "ls:*", "Bash(ls:*)"},
		{"Bash", "echo $(x)", "Bash(echo $(x))"},
		{"Bash", "echo (", `Bash(echo \()`},
		{"Bash", "a)b(", `Bash(a\)b\()`},
		{"Bash", `a\)`, `Bash(a\))`},
	} {
		got := ruleText(c.tool, c.text)
		if got != c.want {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
		}
	}
}

func TestIsAsync(t *testing.T) {
	for _, c := range []struct {
		line string
		ok   bool
		time time.Duration
	}{
		{`{"async": true}`, true, 0},
		{` {"async":true,"asyncTimeout":2500}`, true, 2500 * time.Millisecond},
		{`{"async":true,"asyncTimeout":-1}`, true, 0},
		{`{"async":true,"asyncTimeout":1e300}`, true, 24 * time.Hour},
		{`{"async": false}`, false, 0},
		{`{"async": "yes"}`, false, 0},
		{`{"reason": "async"}`, false, 0},
		{`[{"async": true}]`, false, 0},
		{`true`, false, 0},
		{``, false, 0},
	} {
		if got, ok := isAsync([]byte(c.line)); got != c.time || ok != c.ok {
			t.Errorf("%s: %v, %v", c.line, got, ok)
		}
	}
}

func FuzzDecodeOutput(f *testing.F) {
	f.Add(`{"decision": "block", "reason": "x", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}`, false)
	f.Add(`{"message": "m", "notification": {"title": "t", "body": "b"}, "permissionUpdate": {"tool": "Bash", "behavior": "deny"}}`, true)
	f.Add(`{"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedPermissions": [{"type": "setMode", "mode": "plan"}]}}, "terminalSequence": "\u0007"}`, false)
	f.Fuzz(func(t *testing.T, stdout string, seed bool) {
		d := dialectClaude
		if seed {
			d = dialectSeed
		}
		isAsync([]byte(stdout))
		out, _, err := decodeOutput(d, PermissionRequest, []byte(stdout))
		if (out == nil) != (err != nil) {
			t.Fatalf("%v, %v", out, err)
		}
		if out == nil {
			return
		}
		if out.Input != nil && !json.Valid(out.Input) || out.ToolOutput != nil && !json.Valid(out.ToolOutput) {
			t.Fatalf("%+v", out)
		}
		if strings.Contains(out.TerminalSequence, "[") || strings.ContainsAny(out.TerminalSequence, "\n\r\t") {
			if !terminalseq.Safe(out.TerminalSequence) {
				t.Fatalf("%q", out.TerminalSequence)
			}
		}
		for _, u := range out.Updates {
			if (u.Mode == "") == (len(u.Rules) == 0) {
				t.Fatalf("%+v", u)
			}
		}
	})
}
