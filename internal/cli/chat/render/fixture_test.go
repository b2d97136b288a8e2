package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

var start = time.Date(2026, 11, 28, 22, 0, 0, 0, time.UTC)

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of the output\n", i+1)
	}
	return b.String()
}

func call(tool, input string) *conversation.Call {
	return &conversation.Call{Use: "u", Tool: tool, Input: json.RawMessage(input), Took: 1200 * time.Millisecond}
}

const change = `--- /w/calc/calc.go
+++ /w/calc/calc.go
@@ -9,5 +9,6 @@ import "errors"
 
 // Add returns the sum of two numbers.
 func Add(a, b int) int {
-	return a - b
+	// The sign was wrong: 漢字も使える, and this comment is longer than sixty columns.
+	return a + b
 }
`

// page is a conversation with every kind of block.
func page() (blocks []*conversation.Block) {
	add := func(b *conversation.Block) { blocks = append(blocks, b) }
	called := func(c *conversation.Call) { add(&conversation.Block{Kind: conversation.Called, Call: c}) }
	add(&conversation.Block{Kind: conversation.User, Text: "The test of `Add` fails. Fix it, and look whether Div has the same problem; do not change anything else.\n\n\tgo test ./..."})
	add(&conversation.Block{Kind: conversation.Thinking, Text: "The user wants a fix of Add. I should read the file first.\nThen I run the tests.\nThen I look at Div."})
	add(&conversation.Block{Kind: conversation.Answer, Text: "I look at the **code** first."})
	c := call("Read", `{"file_path":"/w/calc/calc.go"}`)
	c.Took, c.Output = 3*time.Millisecond, numbered(42)
	called(c)
	c = call("Grep", `{"pattern":"func Div","path":"/w"}`)
	c.Took, c.Output = 3*time.Millisecond, "calc/calc.go:14: func Div"
	called(c)
	c = call("Bash", `{"command":"go test ./...","description":"Run the tests"}`)
	exit := 1
	c.ExitCode, c.Output, c.Took = &exit, "=== RUN TestAdd\n"+numbered(30)+"--- FAIL: TestAdd (0.00s)\n    \x1b[31mcalc_test.go:9\x1b[0m: Add(1, 2) = -1, want 3\nFAIL\texample.com/calc\t0.004s\n", 2300*time.Millisecond
	called(c)
	c = call("Edit", `{"file_path":"/w/calc/calc.go","old_string":"return a - b","new_string":"return a + b"}`)
	c.Diff, c.Output = change, "The file was changed."
	called(c)
	c = call("Write", `{"file_path":"/w/new.txt","content":"…"}`)
	c.Diff = "--- /dev/null\n+++ /w/new.txt\n@@ -0,0 +1,40 @@\n+" + strings.ReplaceAll(strings.TrimSpace(numbered(40)), "\n", "\n+") + "\n"
	called(c)
	c = call("Bash", `{"command":"cd calc &&\n  for i in 1 2 3; do go test -count=1 -run 'TestAdd|TestDiv|TestSomethingElse' ./... ; done"}`)
	c.Output = "ok  \texample.com/calc\t0.004s\n10%\r50%\r100%\n"
	called(c)
	c = call("Bash", `{"command":"npm ci"}`)
	c.IsError, c.Notes = true, []string{"sandbox: connection to registry.npm.example:443 was refused: outside network.allowedDomains"}
	c.Output = "npm error\nsandbox: connection to registry.npm.example:443 was refused: outside network.allowedDomains\n"
	called(c)
	c = call("Bash", `{"command":"git push --force"}`)
	c.Took, c.Denied = 0, "rule Bash(git push:*) denies it (.holdfast/settings.json:3)"
	called(c)
	c = call("Bash", `{"command":"sleep 1000"}`)
	c.Took, c.Background, c.Running = 100*time.Millisecond, true, true
	called(c)
	c = call("Bash", `{"command":"make deploy"}`)
	c.Took, c.Unknown = 0, true
	called(c)
	c = call("Read", `{"file_path":"/w/x"}`)
	c.Took, c.Denied = 0, conversation.NotRun
	called(c)
	c = call("mcp__github__create_issue", `{"owner":"ann","title":"\u05e9\u05dc\u05d5\u05dd \u202eevil \u001b[2J"}`)
	c.Output = `{"url":"https://github.example/ann/calc/issues/1"}`
	called(c)
	q := &approval.Request{Tool: "Bash", Requests: []policy.Request{{Tool: "Bash", Operation: policy.OpCommand, Resource: "go test ./..."}}}
	add(&conversation.Block{Kind: conversation.Answered, Request: q, Reply: &approval.Answer{Decision: approval.AllowSession, Scope: "Bash(go test:*)", Actor: "ann", Via: "websocket"}})
	add(&conversation.Block{Kind: conversation.Answered, Request: q, Reply: &approval.Answer{Decision: approval.Deny, Actor: "ann", Via: "cli", Message: "use the staging server,\nnot this one"}})
	add(&conversation.Block{Kind: conversation.Answered, Reply: &approval.Answer{Decision: approval.AllowSession, SaveTo: "local", Actor: "ann"}})
	add(&conversation.Block{Kind: conversation.Note, Text: "permission mode is now acceptEdits, by ann"})
	add(&conversation.Block{Kind: conversation.Note, Warning: true, Text: "overloaded_error: the model has too many requests at the moment, and this is a long reason; retrying in 2.0 s"})
	add(&conversation.Block{Kind: conversation.Answer, Text: "`Add` subtracted. It adds now:\n\n```go\nreturn a + b // sum\n```\n\n- [x] fixed `Add`\n- [ ] `Div` returns no error\n\n| test | result |\n|---|---|\n| TestAdd | ok |\n"})
	add(&conversation.Block{Kind: conversation.Ended, Result: &event.Result{Reason: event.ReasonCompleted, Turns: 5, Duration: 72 * time.Second, CostUSD: 0.0421, Usage: transcript.Usage{Input: 12_000, Output: 400}}})
	add(&conversation.Block{Kind: conversation.User, By: "ann (http)", Text: "Here is the log:\n" + strings.TrimSpace(numbered(40)) + "\nWhat is wrong?"})
	add(&conversation.Block{Kind: conversation.Ended, By: "ann (http)", Result: &event.Result{Reason: event.ReasonInterrupted, Turns: 1, Duration: 3 * time.Second}})
	add(&conversation.Block{Kind: conversation.Ended, Result: &event.Result{Reason: event.ReasonFailed, Err: errors.New("the provider did not answer for 60 s\nlast status 529"), Turns: 1, Duration: time.Minute}})
	return blocks
}

// states are what the live block shows.
func states() map[string]*conversation.State {
	runs := func(tool, input, output string) *conversation.Call {
		c := call(tool, input)
		c.Started, c.Output = start, output
		return c
	}
	agents := []*conversation.Agent{
		{Session: "a", Name: "explore", Parent: "s", Doing: "Read internal/term/live/screen.go", Calls: 12, Tokens: 34_000, Started: start},
		{Session: "b", Name: "helper", Parent: "a", Doing: "Grep parseRow", Calls: 1, Tokens: 900, Started: start},
		{Session: "c", Name: "reviewer", Parent: "s", Ended: true, Calls: 3, Tokens: 12_000, Took: 41 * time.Second},
		{Session: "d", Name: "tester", Parent: "s", Ended: true, Failed: true, Took: 2 * time.Second},
	}
	var tasks []conversation.Task
	for i, text := range []string{"Read the code", "Find the wrong sign", "Fixing Add", "Fix Div", "Write a test", "Run all tests", "Say what changed", "Update the changelog"} {
		tasks = append(tasks, conversation.Task{Text: text, Status: []string{"completed", "completed", "in_progress", "pending"}[min(i, 3)]})
	}
	queue := []conversation.Queued{{Text: "also look at\nMul"}, {Text: "and write it down", By: "bob"}}
	background := runs("Bash", `{"command":"npm run serve"}`, "listening\n")
	background.Background = true
	return map[string]*conversation.State{
		"background": {Calls: []*conversation.Call{background}},
		"both":       {Working: true, Since: start, Calls: []*conversation.Call{background, runs("Bash", `{"command":"make"}`, "cc a.c\n")}},
		"idle":       {},
		"thinking":   {Working: true, Since: start, Doing: "thinking"},
		"one call":   {Working: true, Since: start, Calls: []*conversation.Call{runs("Bash", `{"command":"go test ./..."}`, "a\n\nb\n10%\r20%\nlast\tline \x1b[1mbold\n")}},
		"all": {
			Session: "s", Working: true, Since: start, Calls: []*conversation.Call{runs("Agent", `{"description":"Explore the code"}`, ""), runs("Bash", `{"command":"go test ./..."}`, "ok one\nok two\n")},
			Agents: agents, Tasks: tasks, Queue: queue, Lost: errors.New("dial unix: connection refused"),
		},
		"queued": {Working: true, Since: start, Doing: "writing", Queue: append(queue, queue...)},
	}
}
