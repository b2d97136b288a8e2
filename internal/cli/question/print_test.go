package question

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.Local)

const editedFile = `--- /home/ann/shop/price.go
+++ /home/ann/shop/price.go
@@ -11,4 +11,5 @@
 func total(items []Item) int {
-	return 0
+	sum := 0 // the sum of the prices of all items in the cart of the customer, in cents
+	return sum
 }
 
`

const plan = "# Make it faster\r\n\n1. measure **first**\n2. change `total`, see [the notes](https://example.org/notes)\n\n- [ ] a hidden \u202e turn\n"

func request(tool string, op policy.Operation, resource string) approval.Request {
	return approval.Request{
		ID: "01K", Tool: tool, Cwd: "/home/ann/shop", Mode: policy.ModeDefault, AskedBy: "mode default",
		ReasonText: fmt.Sprintf("Permission required for tool %q in default mode (command)", tool),
		Sandbox:    "kernel: files (writes to shop), network none, 15 protected names, 9 hidden",
		Requests:   []policy.Request{{Tool: tool, Operation: op, Resource: resource}},
	}
}

// requests are all kinds of requests.
func requests() []approval.Request {
	command := request("Bash", policy.OpCommand, "go test ./...")
	long := request("Bash", policy.OpCommand, "find . -name '*.go' -newer go.mod  -print0 | xargs -0 grep -l '世界 👩‍👩‍👧' | sort -u > /tmp/a-list-of-files.txt\nwhy      because\trm -rf \x1b[31m\u202e /")
	long.Agent, long.Rule, long.ReasonText = "reviewer", &policy.Origin{File: "/home/ann/shop/.claude/settings.json", Line: 12}, "rule Bash(find:*) asks\n  exact    ls"
	expires := noon.Add(5 * time.Minute)
	long.Expires = &expires
	outside := request("Bash", policy.OpCommand, "docker ps")
	outside.Requests[0].Unsandboxed = true
	edited := request("Edit", policy.OpWrite, "/home/ann/shop/price.go")
	edited.Requests[0].Display = editedFile
	created := request("Write", policy.OpWrite, "/home/ann/shop/hello.txt")
	created.Requests[0].Display = "--- /dev/null\n+++ /home/ann/shop/hello.txt\n@@ -0,0 +1 @@\n+hello\n… the rest of the diff is not shown\n"
	mcp := request("mcp__git__push", policy.OpMCP, "git/push")
	mcp.Requests[0].Display = "{\n  \"remote\": \"origin\"\n}\n[the server calls it destructive; this is not verified]"
	input := request("Custom", "", "Custom")
	input.Requests[0].Input = json.RawMessage(`{"target": "production", "force": true}`)
	opens := request("Bash", policy.OpWrite, "/home/ann/.tool")
	opens.Requests[0].Confined, opens.Requests[0].Base = true, "absent"
	opens.Requests[0].Input = json.RawMessage(`{"command": "make install-hooks", "refused": "write to /home/ann/.tool was refused: outside allowedWritePaths"}`)
	connects := request("WebFetch", policy.OpConnect, "npm.example:443")
	connects.Requests[0].Confined, connects.Requests[0].Address = true, "10.0.0.80"
	connects.Requests[0].Input = json.RawMessage(`{"command": "npm ci"}`)
	two := request("Bash", policy.OpRead, "/etc/hosts")
	two.Requests = append(two.Requests, policy.Request{Tool: "Bash", Operation: policy.OpConnect, Resource: "example.org:443", Display: "https://example.org/?q=" + strings.Repeat("x", 80)})
	planned := request(forms.PlanTool, "", forms.PlanTool)
	planned.Requests[0].Person = true
	planned.Requests[0].Input, _ = json.Marshal(map[string]string{"plan": plan})
	choices := request(forms.AskTool, "", forms.AskTool)
	choices.Requests[0].Person = true
	choices.Requests[0].Input = json.RawMessage(`{"questions": [
		{"question": "Which store shall the sessions of this project use from now on, and on every machine?", "header": "Store", "options": [
			{"label": "SQLite", "description": "A file on this machine, with an index for full-text search, that needs no server", "preview": "store: sqlite:///home/ann/.holdfast/sessions.db?journal=wal&synchronous=full"},
			{"label": "Postgres", "description": "A server"}]},
		{"question": "Which days?", "header": "Days", "multiSelect": true, "options": [{"label": "Monday", "description": ""}, {"label": "Friday", "description": ""}]}]}`)
	return []approval.Request{command, long, outside, edited, created, mcp, input, opens, connects, two, planned, choices}
}

func printed(style term.Style, q approval.Request) string {
	var b bytes.Buffer
	PrintApproval(term.NewPrinter(&b, style), q, noon)
	return b.String()
}

// The golden files show all kinds of requests in terminals of three widths, and in a file.
func TestPrintApproval(t *testing.T) {
	for name, style := range map[string]term.Style{
		"60": {TTY: true, Width: 60}, "80": {TTY: true, Width: 80}, "120": {TTY: true, Width: 120},
		"80-color": {TTY: true, Width: 80, Color: true}, "file": {Width: 80},
	} {
		var b strings.Builder
		for _, q := range requests() {
			b.WriteString(printed(style, q) + "\n")
		}
		got, file := b.String(), filepath.Join("testdata", "approval", name+".txt")
		docgen.Golden(t, file, got)
	}
}

// Every text of a request fits the terminal, and controls nothing. Only names of facts and our own
// marks stand at the start of a line.
func TestPrintUntrusted(t *testing.T) {
	evil := rapid.StringOf(rapid.SampledFrom([]rune("ab  -+@\n\r\t\x1b\u202e\u200b世👩é\u0301\u0000`*#|")))
	rapid.Check(t, func(t *rapid.T) {
		q := request(evil.Draw(t, "tool"), policy.OpWrite, evil.Draw(t, "resource"))
		q.ReasonText, q.Agent, q.Cwd, q.Sandbox = evil.Draw(t, "why"), evil.Draw(t, "agent"), evil.Draw(t, "cwd"), evil.Draw(t, "sandbox")
		q.Requests[0].Display = evil.Draw(t, "shown")
		if rapid.Bool().Draw(t, "is a plan") {
			q.Tool, q.Requests[0].Tool, q.Requests[0].Operation, q.Requests[0].Person = forms.PlanTool, forms.PlanTool, "", true
			q.Requests[0].Input, _ = json.Marshal(map[string]string{"plan": evil.Draw(t, "plan")})
		}
		width := rapid.IntRange(40, 130).Draw(t, "width")
		for n, l := range strings.Split(printed(term.Style{TTY: true, Width: width}, q), "\n") {
			if strings.ContainsFunc(l, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }) {
				t.Fatalf("control character in %q", l)
			}
			if term.Width(l) > width {
				t.Fatalf("%q is wider than %d", l, width)
			}
			if n > 0 && l != "" && !strings.HasPrefix(l, "  ") {
				t.Fatalf("%q looks like a line of ours", l)
			}
		}
	})
}
