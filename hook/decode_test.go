package hook_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestDecode(t *testing.T) {
	block := `{
	"PreToolUse": [
		{"matcher": "Bash|Edit", "hooks": [
			{"type": "command", "command": "./check.sh", "timeout": 1.5, "onFailure": "block", "if": "Bash(git push:*)",
			 "statusMessage": "checking", "once": true, "sandbox": "write", "shell": "bash", "allowedEnvVars": ["GH_TOKEN"]},
			{"type": "http", "url": "http://127.0.0.1:8080/x", "headers": {"X-Token": "Bearer ${TOKEN}"}, "allowedEnvVars": ["TOKEN"]}
		]},
		{"hooks": [{"type": "command", "command": "/usr/bin/check", "args": ["-x", "${CLAUDE_PROJECT_DIR}/a b"], "async": true}]}
	],
	"Stop": [{"matcher": "*", "hooks": []}, {"matcher": null, "hooks": [{"type": "command", "command": "true", "asyncRewake": false}]}],
	"postToolUse": [{"command": "logger done", "matcher": "Bash", "timeout": 5000}, {"command": "x", "timeout": -3, "sandbox": "off"}],
	"sessionStart": [{"command": "y", "timeout": null}]
}`
	got, err := (&hook.SettingsBlock{
		JSON:  json.RawMessage(block),
		Layer: layernames.Project, File: "/p/.claude/settings.json", Dir: "/p",
		Position: func(at int) (int, int) {
			before := block[:at]
			return strings.Count(before, "\n") + 1, at - strings.LastIndexByte(before, '\n')
		},
	}).Decode()
	if err != nil {
		t.Fatal(err)
	}
	at := func(line, col int) policy.Origin {
		return policy.Origin{Layer: layernames.Project, File: "/p/.claude/settings.json", Line: line, Col: col}
	}
	want := []hook.Definition{
		{
			Event: hook.PreToolUse, Dialect: "claude", Matcher: "Bash|Edit", Command: "./check.sh", Timeout: 1500 * time.Millisecond,
			OnFailure: "block", If: "Bash(git push:*)", Status: "checking", Once: true, Sandbox: "write", Env: []string{"GH_TOKEN"},
			Origin: at(4, 4), Dir: "/p",
		},
		{
			Event: hook.PreToolUse, Dialect: "claude", Matcher: "Bash|Edit", URL: "http://127.0.0.1:8080/x",
			Headers: map[string]string{"X-Token": "Bearer ${TOKEN}"}, Env: []string{"TOKEN"}, Origin: at(6, 4), Dir: "/p",
		},
		{
			Event: hook.PreToolUse, Dialect: "claude", Command: "/usr/bin/check", Args: []string{"-x", "${CLAUDE_PROJECT_DIR}/a b"},
			Async: true, Origin: at(8, 14), Dir: "/p",
		},
		{Event: hook.Stop, Dialect: "claude", Command: "true", Origin: at(10, 70), Dir: "/p"},
		{
			Event: hook.PostToolUse, Dialect: "seed", Command: "logger done", Matcher: "Bash", Timeout: 5 * time.Second,
			Origin: at(11, 18), Dir: "/p",
		},
		{
			Event: hook.PostToolUse, Dialect: "seed", Command: "x", Timeout: time.Millisecond, Sandbox: "off",
			Origin: at(11, 82), Dir: "/p",
		},
		{Event: hook.SessionStart, Dialect: "seed", Command: "y", Origin: at(12, 19), Dir: "/p"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What may stand in a handler of PreToolUse is tried in place of the dots.
func TestDecodeRefuses(t *testing.T) {
	handler := func(fields string) string {
		return `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", ` + fields + `}]}]}`
	}
	http := func(fields string) string {
		return `{"PreToolUse": [{"hooks": [{"type": "http", ` + fields + `}]}]}`
	}
	on := func(event, fields string) string {
		return `{"` + event + `": [{"hooks": [{` + fields + `}]}]}`
	}
	const h = "PreToolUse[0].hooks[0]"
	for _, c := range []struct {
		block, field, what, hint string
		at                       string // what stands at the offset
	}{
		{`[]`, "", "want an object, not a list", "PreToolUse", `[]`},
		{`{"PreToolUse": [}`, "", "not JSON", "", `}`},
		{`{"Stop": [], "Stop": []}`, "", `duplicate key "Stop"`, "keep one", `"Stop": []}`},
		{`{"PreToolUsed": []}`, "PreToolUsed", `unknown event "PreToolUsed"`, "did you mean PreToolUse?", `"PreToolUsed"`},
		{`{"pretooluse": []}`, "pretooluse", `unknown event`, "did you mean preToolUse?", `"pretooluse"`},
		{`{"postToolBatch": []}`, "postToolBatch", `unknown event`, "did you mean PostToolBatch?", ``},
		{`{"MessageDisplay": []}`, "MessageDisplay", "not supported", "remove the hook", ``},
		{`{"hooks": {"Stop": []}}`, "hooks", `unknown event "hooks"`, "remove the outer", ``},
		{`{"description": "x", "hooks": {}}`, "description", `unknown event "description"`, "", ``},
		{`{"Stop": {"hooks": []}}`, "Stop", "want a list, not an object", "[ ]", `{"hooks"`},
		{`{"Stop": ["x"]}`, "Stop[0]", `want an object, not "x"`, "", `"x"`},
		{`{"Stop": [{"matcher": ""}]}`, "Stop[0]", `"hooks" is missing`, "", ``},
		{`{"PreToolUse": [{"command": "x"}]}`, "PreToolUse[0]", `want a list of "hooks"`, "preToolUse for the flat form", ``},
		{`{"PreToolUse": [{"macher": "x", "hooks": []}]}`, "PreToolUse[0].macher", "unknown field", "did you mean matcher?", `"macher"`},
		{`{"PreToolUse": [{"matcher": 3, "hooks": []}]}`, "PreToolUse[0].matcher", "want a string, not 3", "", `3`},
		{`{"PreToolUse": [{"matcher": "Bash(", "hooks": []}]}`, "PreToolUse[0].matcher", "invalid matcher", "each literal", `"Bash("`},
		{`{"PreToolUse": [{"matcher": "*Bash", "hooks": []}]}`, "PreToolUse[0].matcher", "invalid matcher", `".*"`, ``},
		{`{"PreToolUse": [{"matcher": " | ", "hooks": []}]}`, "PreToolUse[0].matcher", "is empty", "", ``},
		{`{"Stop": [{"matcher": "Bash", "hooks": []}]}`, "Stop[0].matcher", "has no effect", "remove the matcher", ``},
		{`{"PreToolUse": [{"hooks": {"type": "command"}}]}`, "PreToolUse[0].hooks", "want a list", "", ``},
		{`{"PreToolUse": [{"hooks": ["x.sh"]}]}`, h, "want an object", "command", ``},
		{on("PreToolUse", `"command": "x"`), h, `"type" is missing`, `write "type": "command"`, ``},
		{on("PreToolUse", `"type": "shell", "command": "x"`), h + ".type", `unknown type "shell"`, `"command" or "http"`, `"shell"`},
		{on("PreToolUse", `"type": "prompt", "prompt": "x"`), h + ".type", `type "prompt" are not supported`, "", ``},
		{on("PreToolUse", `"type": "agent", "prompt": "x"`), h + ".type", `type "agent" are not supported`, "", ``},
		{on("PreToolUse", `"type": "mcp_tool", "server": "x"`), h + ".type", `type "mcp_tool" are not supported`, "", ``},
		{on("PreToolUse", `"type": "command"`), h, `"command" is missing`, "", ``},
		{on("PreToolUse", `"type": "command", "command": null`), h, `"command" is missing`, "", ``},
		{on("PreToolUse", `"type": "command", "command": " "`), h + ".command", `it is empty`, "", ``},
		{on("PreToolUse", `"type": "command", "command": "a\u0000b"`), h + ".command", `NUL`, "", ``},
		{handler(`"shell": "powershell"`), h + ".shell", "powershell shell is not supported", "bash", ``},
		{handler(`"shell": "zsh"`), h + ".shell", `unknown value "zsh"`, `"bash"`, ``},
		{handler(`"asyncRewake": true`), h + ".asyncRewake", "cannot wake", `"async": true`, ``},
		{handler(`"timeout": 0`), h + ".timeout", "too short", "seconds", `0}`},
		{handler(`"timeout": -1`), h + ".timeout", "too short", "seconds", `-1`},
		{handler(`"timeout": 600000`), h + ".timeout", "too long", "seconds", ``},
		{handler(`"timeout": 1e999`), h + ".timeout", "too long", "seconds", ``},
		{handler(`"timeout": "5"`), h + ".timeout", "want a number of seconds", "", ``},
		{handler(`"async": true, "onFailure": "block"`), h + ".onFailure", "no effect on an async hook", "remove one", `"block"`},
		{handler(`"onFailure": "stop"`), h + ".onFailure", "unknown value", `"block" or "continue"`, ``},
		{handler(`"once": 1`), h + ".once", "want true or false", "", ``},
		{handler(`"args": "x"`), h + ".args", "want a list", "", ``},
		{handler(`"args": [3]`), h + ".args[0]", "want a string", "", ``},
		{handler(`"sandbox": "none"`), h + ".sandbox", "unknown value", `"read" or "write" or "off"`, ``},
		{handler(`"allowedEnvVars": ["$X"]`), h + ".allowedEnvVars[0]", "invalid variable name", "without $", ``},
		{handler(`"allowedEnvVars": ["OTEL_X"]`), h + ".allowedEnvVars[0]", "never passed to hooks", "", ``},
		{handler(`"timeOut": 5`), h + ".timeOut", "unknown field", "did you mean timeout?", `"timeOut"`},
		{handler(`"url": "http://x"`), h + ".url", `no effect on hooks of type "command"`, "remove it", ``},
		{handler(`"if": "Bash("`), h + ".if", `the rule "Bash("`, "", `"Bash("`},
		{handler(`"if": ""`), h + ".if", "it is empty", "", ``},
		{handler(`"if": "bash(ls)"`), h + ".if", `unknown tool "bash"`, "write Bash", ``},
		{on("Stop", `"type": "command", "command": "x", "if": "Bash"`), "Stop[0].hooks[0].if", "never run", "", ``},
		{on("Stop", `"type": "command", "command": "x", "onFailure": "block"`), "Stop[0].hooks[0].onFailure", "has no effect on Stop", "", ``},
		{on("SessionStart", `"type": "http", "url": "http://localhost"`), "SessionStart[0].hooks[0].type", "supports only command hooks", "", ``},
		{http(`"command": "x"`), h + ".command", `no effect on hooks of type "http"`, "", ``},
		{http(`"statusMessage": "x"`), h, `"url" is missing`, "", ``},
		{http(`"url": "ftp://x"`), h + ".url", "unsupported URL scheme ftp", "http or https", ``},
		{http(`"url": "localhost:80"`), h + ".url", "invalid URL", "", ``},
		{http(`"url": "http://me:pw@x/"`), h + ".url", "user name or password", "headers", ``},
		{http(`"url": "http://x", "headers": {"A B": "x"}`), h + ".headers.A B", "invalid header name", "", ``},
		{http(`"url": "http://x", "headers": {"host": "x"}`), h + ".headers.host", "sets this header", "", ``},
		{http(`"url": "http://x", "headers": {"A": "x\ny"}`), h + ".headers.A", "line break", "", ``},
		{http(`"url": "http://x", "headers": {"A": "$TOKEN"}`), h + ".headers.A", "$TOKEN would be empty", "allowedEnvVars", ``},
		{http(`"url": "http://x", "headers": []`), h + ".headers", "want an object", "X-Name", ``},
		{`{"preToolUse": [{"command": "x", "timeout": "5"}]}`, "preToolUse[0].timeout", "want a number of milliseconds", "", ``},
		{`{"preToolUse": [{"command": "x", "timeout": 1e12}]}`, "preToolUse[0].timeout", "too long", "milliseconds", ``},
		{`{"preToolUse": [{}]}`, "preToolUse[0]", `"command" is missing`, "", ``},
		{`{"preToolUse": {"command": "x"}}`, "preToolUse", `want a list`, "", ``},
		{`{"preToolUse": [{"hooks": []}]}`, "preToolUse[0]", `not a group with "hooks"`, "write PreToolUse for that form", ``},
		{`{"preToolUse": [{"command": "x", "timeout": 0.5}]}`, "preToolUse[0].timeout", "not a whole number", "milliseconds", ``},
		{`{"preToolUse": [{"command": "x", "matcher": "(?<"}]}`, "preToolUse[0].matcher", "invalid matcher", "", ``},
		{`{"preToolUse": [{"command": "x", "type": "command"}]}`, "preToolUse[0].type", "unknown field", "", ``},
		{`{"stop": [{"command": "x", "matcher": "Bash"}]}`, "stop[0].matcher", "has no effect", "", ``},
		{"{\"stop\": [{\"command\": \"\xff\"}]}", "", "not UTF-8", "", "\xff"},
		{`{"stop": [{"command": "\ud800"}]}`, "", "half of a surrogate pair", "", ``},
		{strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100), "", "nested deeper", "nesting depth", ``},
	} {
		got, err := (&hook.SettingsBlock{JSON: json.RawMessage(c.block)}).Decode()
		e, ok := errors.AsType[*hook.Error](err)
		switch {
		case !ok:
			t.Errorf("%s\ngives %v, %v; want an error that says %q", c.block, got, err, c.what)
		case !errors.Is(err, &hook.Error{}), e.Field != c.field, !strings.Contains(e.What, c.what), !strings.Contains(e.Advice, c.hint):
			t.Errorf("%s\ngives %q: %s; hint %q\nwant %q: %s; hint %q", c.block, e.Field, e.What, e.Advice, c.field, c.what, c.hint)
		case c.at != "" && !strings.HasPrefix(c.block[e.Offset:], c.at):
			t.Errorf("%s: the offset %d is at %q", c.block, e.Offset, c.block[e.Offset:])
		case len(got) != 0:
			t.Errorf("%s: %v came with the error", c.block, got)
		}
	}
}

// One bad hook does not take the others with it, and every error is told.
func TestDecodeValidDefinitions(t *testing.T) {
	got, err := (&hook.SettingsBlock{JSON: json.RawMessage(`{
		"notARealEvent": [{"command": "a"}],
		"preToolUse": [{"command": "b"}, {"command": 5}, {"command": "c"}],
		"PreToolUse": [{"hooks": [{"type": "command", "command": "d"}, {"type": "nothing"}]}]}`)}).Decode()
	var commands []string
	for _, d := range got {
		commands = append(commands, d.Command)
	}
	if strings.Join(commands, " ") != "b c d" {
		t.Errorf("got %q", commands)
	}
	for _, field := range []string{"notARealEvent", "preToolUse[1].command", "PreToolUse[0].hooks[1].type"} {
		if err == nil || !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}

func TestDecodeNothing(t *testing.T) {
	for _, block := range []string{"", "null", "{}", `{"Stop": []}`} {
		if got, err := (&hook.SettingsBlock{JSON: json.RawMessage(block)}).Decode(); err != nil || len(got) != 0 {
			t.Errorf("%q: %v, %v", block, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", "timeout": 5, "if": "Bash(ls)"}]}]}`)
	f.Add(`{"preToolUse": [{"command": "x", "matcher": "a|b", "timeout": 5}]}`)
	f.Add(`{"PostToolUse": [{"hooks": [{"type": "http", "url": "http://x", "headers": {"A": "$B"}, "allowedEnvVars": ["B"]}]}]}`)
	f.Fuzz(func(t *testing.T, block string) {
		got, err := (&hook.SettingsBlock{JSON: json.RawMessage(block), Dir: "/p"}).Decode()
		if err != nil && !errors.Is(err, &hook.Error{}) {
			t.Fatalf("%T: %v", err, err)
		}
		if e, ok := errors.AsType[*hook.Error](err); ok && (e.Offset < 0 || e.Offset > len(block) || e.What == "") {
			t.Fatalf("%+v", e)
		}
		for _, d := range got {
			if e, err := hook.Event(d.Event.Spelled(d.Dialect)).Canonical(); err != nil || e != d.Event {
				t.Fatalf("%+v", d)
			}
			if (d.Command == "") == (d.URL == "") || d.Timeout < 0 {
				t.Fatalf("%+v", d)
			}
		}
	})
}
