package hook

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		dialect string
		event   Event
		text    string
		yes, no string // values, separated by spaces
	}{
		{dialectClaude, PreToolUse, "", "Bash mcp__x", ""},
		{dialectClaude, PreToolUse, "*", "Bash Edit", ""},
		{dialectClaude, PreToolUse, "Bash", "Bash", "bash BashOutput NotebookBash"},
		{dialectClaude, PreToolUse, "Edit|Write", "Edit Write", "NotebookEdit Edit|Write MultiEdit"},
		{dialectClaude, PreToolUse, "Edit, Write", "Edit Write", "NotebookEdit"},
		{dialectClaude, PreToolUse, "Edit |Write|", "Edit Write", "NotebookEdit"},
		{dialectClaude, PreToolUse, "mcp__memory", "mcp__memory", "mcp__memory__read"},
		{dialectClaude, PreToolUse, "mcp__my-server__do-it", "mcp__my-server__do-it", "mcp__my"},
		{dialectClaude, PreToolUse, "mcp__memory__.*", "mcp__memory__read", "mcp__memory mcp__other__read"},
		{dialectClaude, PreToolUse, "Edit.*", "Edit NotebookEdit EditX", "edit Write"},
		{dialectClaude, PreToolUse, "^Edit", "Edit EditX", "NotebookEdit"},
		{dialectClaude, PreToolUse, "^(Edit|Write)$", "Edit Write", "NotebookEdit EditX"},
		{dialectClaude, PreToolUse, "Notebook.+", "NotebookEdit", "Notebook"},
		{dialectClaude, PreToolUse, "^(?!Read$).*", "Bash Edit ReadX", "Read"},
		{dialectClaude, PreToolUse, "^(?:a(b)\\1)$", "abb", "ab"},
		{dialectClaude, PreToolUse, "^\\w+$", "Bash", "mcp-x é"},
		{dialectClaude, PreToolUse, "^[A-Z]\\d{2}$", "A12", "A1 A٣٣"},
		{dialectClaude, SessionStart, "startup|resume", "startup resume", "compact"},
		{dialectClaude, SessionEnd, "other", "other", "logout"},
		{dialectClaude, Notification, "permission_prompt", "permission_prompt", "idle_prompt"},
		{dialectClaude, PreCompact, "auto", "auto", "manual"},
		{dialectClaude, StopFailure, "rate_limit|overloaded", "rate_limit overloaded", "server_error"},
		{dialectClaude, StopFailure, "rate-limit", "x-rate-limit-y", "rate_limit"},
		{dialectClaude, FileChanged, ".envrc|.env", "/p/.envrc /p/sub/.env", "/p/x.md /p/.env.d/x"},
		{dialectClaude, FileChanged, "package.json", "/p/package.json", "/p/package.json.d/x"},
		{dialectClaude, FileChanged, "a+b.txt|c", "/p/a+b.txt /p/c", "/p/x"},
		{dialectClaude, FileChanged, "\\.md$", "/p/x.md", "/p/x.mdx"},
		{dialectClaude, SubagentStart, "Explore", "Explore", "Explorer"},
		{dialectSeed, PreToolUse, "", "bash", ""},
		{dialectSeed, PreToolUse, "*", "Bash", ""},
		{dialectSeed, PreToolUse, "Edit", "Edit NotebookEdit", "edit"},
		{dialectSeed, PreToolUse, "bash", "bash", "Bash"},
		{dialectSeed, PreToolUse, "file.*", "file_read", "files_"[:3]},
		{dialectSeed, PreToolUse, "Edit, Write", "", "Edit Write"},
		{dialectSeed, PreToolUse, "(?i)bash", "Bash BASH", "zsh"},
		{dialectSeed, PreToolUse, "^Edit|Write$", "EditX NotebookWrite", "NotebookEdit"},
	} {
		m, err := compileMatcher(c.dialect, c.event, c.text)
		if err != nil {
			t.Errorf("%s %q: %v", c.dialect, c.text, err)
			continue
		}
		for v := range strings.FieldsSeq(c.yes) {
			if !m.matches(v) {
				t.Errorf("%s %s %q does not match %q", c.dialect, c.event, c.text, v)
			}
		}
		for _, v := range append(strings.Fields(c.no), "") {
			if m.matches(v) && (v != "" || !m.all) {
				t.Errorf("%s %s %q matches %q", c.dialect, c.event, c.text, v)
			}
		}
	}
}

func TestMatcherRefuses(t *testing.T) {
	for _, c := range []struct {
		dialect    string
		event      Event
		text, what string
	}{
		{dialectClaude, PreToolUse, "Bash(", "invalid matcher"},
		{dialectClaude, PreToolUse, "[a", "invalid matcher"},
		{dialectClaude, PreToolUse, "+", "invalid matcher"},
		{dialectClaude, PreToolUse, "**", "invalid matcher"},
		{dialectClaude, PreToolUse, "|,", "is empty"},
		{dialectClaude, PreToolUse, "a\xff", "UTF-8"},
		{dialectSeed, PreToolUse, "Bash(", "invalid matcher"},
		{dialectSeed, Stop, "Bash", "has no effect"},
		{dialectClaude, UserPromptSubmit, "x", "has no effect"},
	} {
		m, err := compileMatcher(c.dialect, c.event, c.text)
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.What, c.what) || e.Advice == "" {
			t.Errorf("%s %q: %v, %v; want %q and a hint", c.event, c.text, m, err, c.what)
		}
	}
}

// An expression that takes for ever is given up: it matches where something is
// guarded, and the person is told in both cases.
func TestMatcherTimeLimit(t *testing.T) {
	long := strings.Repeat("a", 40) + "!"
	for event, want := range map[Event]bool{PreToolUse: true, PermissionRequest: true, PostToolUse: false} {
		m, err := compileMatcher(dialectClaude, event, `^(?=a)([a]+)+$`)
		if err != nil {
			t.Fatal(err)
		}
		if ok, notice := m.look(long); ok != want || !strings.Contains(notice, "did not finish within") {
			t.Errorf("%s: %v, %q", event, ok, notice)
		}
		if ok, notice := m.look("aaa"); !ok || notice != "" {
			t.Errorf("%s of aaa: %v, %q", event, ok, notice)
		}
	}
}

// Where the engine of linear time is used, it says what the other one does.
func FuzzPlainExpression(f *testing.F) {
	for _, text := range []string{"Edit.*", "^(a|b)+$", "a.c?d*", "(|x)y", "mcp__.*__read", "a+?b"} {
		f.Add(text, "Edit abcd xy mcp__m__read")
	}
	f.Fuzz(func(t *testing.T, text, field string) {
		if len(text) > 12 || len(field) > 12 || strings.HasSuffix(field, "\n") { // that engine's "$" matches before it
			t.Skip("too slow to compare, or known to differ")
		}
		m := &matcher{text: text}
		if strings.Contains(text, "\n") || m.compile(0x100) != nil || m.plain == nil {
			t.Skip("the engine of linear time does not take it")
		}
		slow, err := m.slow.MatchString(field)
		if err != nil {
			t.Skip("the other engine took too long")
		}
		if plain := m.plain.MatchString(field); plain != slow && strings.ToValidUTF8(field, "") == field {
			t.Errorf("%q on %q: plain %v, the other %v", text, field, plain, slow)
		}
	})
}

func TestCondition(t *testing.T) {
	bash := func(line string) Input {
		raw, _ := json.Marshal(map[string]string{"command": line})
		return Input{Tool: ToolCall{Name: "Bash", Input: raw, Requests: []policy.Request{{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: "/p", Input: raw}}}}
	}
	file := func(tool string, op policy.Operation, path string) Input {
		return Input{Tool: ToolCall{Name: tool, Requests: []policy.Request{{Tool: tool, Operation: op, Resource: path, Cwd: "/p"}}}}
	}
	for _, c := range []struct {
		rule string
		in   Input
		want bool
	}{
		{"Bash", bash("ls"), true},
		{"Bash", file("Edit", policy.OpWrite, "/p/x"), false},
		{"Bash(git push:*)", bash("git push origin"), true},
		{"Bash(git push:*)", bash("git status"), false},
		{"Bash(git push:*)", bash("cd x && git push"), true},
		{"Bash(git push:*)", bash("echo $(git push)"), true},
		{"Bash(git push:*)", bash("echo 'git push'"), false},
		{"Bash(git push:*)", bash("sudo git push -f"), true},
		{"Bash(git push:*)", bash("$X push"), true}, // it cannot be known
		{"Bash(git push:*)", bash("echo 'unfinished"), true},
		{"Bash(rm *)", bash("ls; rm -rf x"), true},
		{"Edit(*.go)", file("Edit", policy.OpWrite, "/p/a.go"), true},
		{"Edit(*.go)", file("Write", policy.OpWrite, "/p/a.go"), true},
		{"Edit(*.go)", file("Edit", policy.OpWrite, "/p/a.md"), false},
		{"Edit(/src/**)", file("Edit", policy.OpWrite, "/proj/src/a.go"), true},
		{"Edit(/src/**)", file("Edit", policy.OpWrite, "/p/src/a.go"), false},
		{"Read(.env)", file("Read", policy.OpRead, "/p/.env"), true},
		{"Read(.env)", file("Edit", policy.OpWrite, "/p/.env"), false},
		{"Bash(ls)", Input{Tool: ToolCall{Name: "Bash"}}, true}, // without requests it cannot be known
		{"Bash(ls)", Input{Tool: ToolCall{Name: "Task"}}, false},
		{"mcp__x__y", Input{Tool: ToolCall{Name: "mcp__x__y"}}, true},
		{"mcp__x__y", Input{Tool: ToolCall{Name: "mcp__x__z"}}, false},
	} {
		cond, err := newCondition(&Definition{If: c.rule, Dir: "/proj"}, policy.RuleOptions{Home: "/home/u", Cwd: "/p"})
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		if got := cond.holds(&c.in); got != c.want {
			t.Errorf("%s on %s %+v: %v, want %v", c.rule, c.in.Tool.Name, c.in.Tool.Requests, got, c.want)
		}
	}
	none, err := newCondition(&Definition{}, policy.RuleOptions{})
	if err != nil || !none.holds(&Input{Tool: ToolCall{Name: "x"}}) {
		t.Error("a hook without a condition does not run")
	}
	for _, rule := range []string{"Bash(", "Bash(ls) Edit", "()", " ", "bash", "Bash(ls)|Edit(x)"} {
		if _, err := compileIf(rule, "/p", policy.RuleOptions{Cwd: "/p"}); !errors.Is(err, &Error{}) {
			t.Errorf("%q gives %v", rule, err)
		}
	}
}

func BenchmarkMatcher(b *testing.B) {
	for _, text := range []string{"*", "Bash|Edit", "mcp__.*", "^(?!Read$).*"} {
		b.Run(text, func(b *testing.B) {
			m, err := compileMatcher(dialectClaude, PreToolUse, text)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				m.matches("NotebookEdit")
			}
		})
	}
}

// The field that an event's matchers compare is filled from the input, for every event.
func TestMatchedFieldOfEvents(t *testing.T) {
	for _, info := range events {
		if info.Matches == "" {
			continue
		}
		in := Input{Event: info.Event}
		if info.Matches == "tool_name" {
			in.Tool.Name = "x"
		}
		for _, f := range wireFields {
			if f.claude == info.Matches {
				*f.at(&in).(*string) = "x"
			}
		}
		if got := in.field(info.Matches); got != "x" {
			t.Errorf("%s: a matcher compares %q", info.Event, got)
		}
	}
}
