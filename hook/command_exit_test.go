package hook

import (
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	f := newFixture(t, nil)
	for _, tt := range []struct {
		name   string
		event  Event
		script string
		want   Output // what is compared: Block, Reason, Message, Context, Permission, WorktreePath, Input
		none   bool   // it says nothing
		fails  string // a part of the failure
		notice string
	}{
		{name: "0 and nothing", event: PreToolUse, script: "true", none: true},
		{name: "0 and text is shown nowhere", event: PreToolUse, script: "echo hello", none: true},
		{name: "0 and text is context", event: UserPromptSubmit, script: "echo hello; echo you", want: Output{Context: "hello\nyou"}},
		{name: "0 and text is context at the start", event: SessionStart, script: "echo ' hello '", want: Output{Context: "hello"}},
		{name: "0 and JSON", event: PreToolUse, script: `echo '{"decision":"block","reason":"no"}'`, want: Output{Block: true, Decision: "block", Reason: "no"}},
		{name: "0 and an array is text", event: UserPromptSubmit, script: `echo '["x"]'`, want: Output{Context: `["x"]`}},
		{name: "0 and half of JSON is text", event: UserPromptSubmit, script: `echo '{"a":'`, want: Output{Context: `{"a":`}, notice: "looks like JSON"},
		{name: "0 and JSON of the wrong type", event: PreToolUse, script: `echo '{"reason":7}'`, fails: "output is invalid"},
		{name: "0 and a huge JSON", event: PreToolUse, script: `printf '{"reason":"'; head -c 2000000 /dev/zero | tr '\0' a; echo '"}'`, fails: "longer than 1048576"},
		{name: "0 and a path", event: WorktreeCreate, script: "echo /w/tree", want: Output{WorktreePath: "/w/tree"}},
		{name: "0 and half of JSON of a guard", event: PreToolUse, script: `echo '{"decision":"block",'`, fails: "looks like JSON"},
		{name: "0 and a mark before JSON", event: PreToolUse, script: `printf '\357\273\277{"decision":"block"}'`, want: Output{Block: true, Decision: "block"}},
		{name: "0 and text above a block", event: PreToolUse, script: `echo welcome; echo '{"decision":"block","reason":"no"}'`, want: Output{Block: true, Reason: "no"}, notice: "follows other text"},
		{name: "0 and text above a block of a prompt", event: UserPromptSubmit, script: `echo welcome; echo '{"decision":"block"}'`, want: Output{Block: true}, notice: "follows other text"},
		{name: "0 and text above an allow", event: PreToolUse, script: `echo welcome; echo '{"permissionDecision":"allow"}'`, none: true, notice: "follows other text"},
		{name: "0 and text above a block after the tool", event: PostToolUse, script: `echo welcome; echo '{"decision":"block"}'`, none: true},
		{name: "errors at 0 are nothing", event: PreToolUse, script: "echo careful >&2", none: true},

		{name: "2 blocks", event: PreToolUse, script: "echo not this >&2; exit 2", want: Output{Block: true, Reason: "not this"}},
		{name: "2 with a reason in JSON", event: PreToolUse, script: `echo '{"reason":"this"}'; echo that >&2; exit 2`, want: Output{Block: true, Reason: "this"}},
		{name: "2 beats an approval", event: PreToolUse, script: `echo '{"decision":"approve"}'; echo no >&2; exit 2`, want: Output{Block: true, Reason: "no"}},
		{name: "2 beats an allow", event: PreToolUse, script: `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"fine"}}'; echo no >&2; exit 2`, want: Output{Block: true, Reason: "no"}},
		{name: "2 with a deny", event: PreToolUse, script: `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"mine"}}'; exit 2`, want: Output{Block: true, Reason: "mine", Permission: "deny", PermissionReason: "mine"}},
		{name: "2 with half of JSON", event: PreToolUse, script: `echo '{"reason":'; echo no >&2; exit 2`, want: Output{Block: true, Reason: "no"}},
		{name: "2 with JSON of the wrong type", event: PreToolUse, script: `echo '{"reason":7}'; echo no >&2; exit 2`, want: Output{Block: true, Reason: "no"}, notice: "reason"},
		{name: "2 without a word", event: PreToolUse, script: "exit 2", want: Output{Block: true, Reason: "it exited with code 2 and wrote nothing to standard error"}},
		{name: "2 after the tool", event: PostToolUse, script: "echo look again >&2; exit 2", want: Output{Block: true, Reason: "look again"}},
		{name: "2 after a failure", event: PostToolUseFailure, script: "echo look again >&2; exit 2", want: Output{Block: true, Reason: "look again"}},
		{name: "2 at the end", event: Stop, script: "echo go on >&2; exit 2", want: Output{Block: true, Reason: "go on"}},
		{name: "2 where nothing can be blocked", event: Notification, script: "echo oh >&2; exit 2", notice: "no effect on Notification: oh"},
		{name: "2 at the start", event: SessionStart, script: "echo oh >&2; exit 2", notice: "oh"},
		{name: "2 for a permission", event: PermissionRequest, script: "echo oh >&2; exit 2", notice: "no effect on PermissionRequest: oh"},
		{name: "2 for a permission with an allow", event: PermissionRequest, script: `echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'; exit 2`, notice: "no effect"},

		{name: "1 is a failure", event: PreToolUse, script: "echo oops >&2; exit 1", fails: "exit code 1: oops"},
		{name: "1 with text is a failure", event: UserPromptSubmit, script: "echo text; exit 1", fails: "exit code 1"},
		{name: "1 with JSON decides", event: PreToolUse, script: `echo '{"decision":"block","reason":"no"}'; exit 1`, want: Output{Block: true, Decision: "block", Reason: "no"}},
		{name: "1 with half of JSON", event: PreToolUse, script: `echo '{"decision":'; exit 1`, fails: "exit code 1"},
		{name: "a program that is not there", event: PreToolUse, script: "no-such-program-here", fails: "exit code 127 (a program was not found)"},
		{name: "a script that is not there", event: PreToolUse, script: "./nothing.sh", fails: "exit code 127"},
		{name: "a signal", event: PreToolUse, script: "kill -9 $$", fails: "signal killed"},
		{name: "3 for a worktree", event: WorktreeCreate, script: "echo no room >&2; exit 3", want: Output{Block: true, Reason: "exit code 3: no room"}},
		{name: "many lines of errors", event: PreToolUse, script: "seq 100 >&2; exit 1", fails: "1\n2\n3\n4\n5 …"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := f.do(t, Definition{Event: tt.event, Command: tt.script}, Input{})
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || a.Output != nil {
					t.Fatalf("the failure is %v, want %q in it; %+v", err, tt.fails, a.Output)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(a.Notice, tt.notice) || tt.notice == "" && a.Notice != "" {
				t.Errorf("the notice is %q, want %q", a.Notice, tt.notice)
			}
			if tt.none != (a.Output == nil) {
				t.Fatalf("it says %+v", a.Output)
			}
			if !tt.none && toJSON(t, a.Output) != toJSON(t, tt.want) {
				t.Errorf("it says %s\nwant    %s", toJSON(t, a.Output), toJSON(t, tt.want))
			}
		})
	}
}

func TestExitCodesOfTheSeed(t *testing.T) {
	f := newFixture(t, nil)
	for _, tt := range []struct {
		name, script string
		want         *Output
		fails        string
	}{
		{"nothing", "true", nil, ""},
		{"text", "echo hello", &Output{Message: "hello"}, ""},
		{"an array", "echo '[1]'", &Output{Message: "[1]"}, ""},
		{"a number", "echo 1", &Output{Message: "1"}, ""},
		{"an object", `echo '{"message":"hello"}'`, &Output{Message: "hello"}, ""},
		{"much text", `head -c 200000 /dev/zero | tr '\0' a`, &Output{Message: strings.Repeat("a", 200000)}, ""},
		{"an object with another exit code", `echo '{"block":true}'; exit 1`, nil, "exit code 1"},
		{"exit code 2", `echo no >&2; exit 2`, nil, "exit code 2: no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := f.do(t, Definition{Event: PreToolUse, Dialect: dialectSeed, Command: tt.script}, Input{})
			if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Fatal(err)
			}
			if toJSON(t, a.Output) != toJSON(t, tt.want) {
				t.Errorf("it says %s, want %s", toJSON(t, a.Output), toJSON(t, tt.want))
			}
		})
	}
}
