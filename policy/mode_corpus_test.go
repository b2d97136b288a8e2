package policy_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestModeCorpus(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "permission_mode"),
		map[string]func(*testing.T, corpus.Case){"permission_mode": modeCase}, nil)
}

// callOf returns the request of a tool of the original.
func callOf(tool, command string, readOnly bool) policy.Request {
	r := policy.Request{Tool: tool, ReadOnly: readOnly}
	switch {
	case tool == "Bash":
		r.Operation, r.Resource, r.Cwd = policy.OpCommand, command, "/p"
		if command == "" {
			r.Resource = "make" // whose effects are not in the line
		}
	case writesFiles(tool):
		r.Operation, r.Resource = policy.OpWrite, "/p/a"
	case slices.Contains([]string{"Read", "Glob", "Grep", "LSP"}, tool):
		r.Operation, r.Resource = policy.OpRead, "/p/a"
	case strings.HasPrefix(tool, "Web"):
		r.Operation, r.Resource = policy.OpConnect, "example.org"
	case strings.HasPrefix(tool, "mcp__"):
		r.Operation, r.Resource = policy.OpMCP, strings.ReplaceAll(strings.TrimPrefix(tool, "mcp__"), "__", "/")
	}
	return r
}

// writesFiles reports whether the original's tool declares that it writes a file. Its notebook tool
// does not, so a mode treats it like any other tool.
func writesFiles(tool string) bool {
	return slices.Contains([]string{"Write", "Edit", "MultiEdit"}, tool)
}

var setMode = regexp.MustCompile(`^setPermissionMode\((\w+)\)$`)

func modeCase(t *testing.T, c corpus.Case) {
	var settings struct{ PermissionMode string }
	var input struct {
		Tool, Command, Asker, Op string
		ReadOnly                 bool
	}
	if c.Settings() != nil {
		c.Decode(t, c.Settings(), &settings)
	}
	c.Decode(t, c.Input(), &input)
	g, err := policy.New(&policy.Config{Mode: policy.Mode(settings.PermissionMode), Folders: []string{"/p"}, Home: "/home/me"})
	if err != nil {
		var want string
		if json.Unmarshal(c.Expect(), &want) == nil && want == "allow" {
			t.Fatal(err)
		}
		return // an unknown mode is refused, which is a no
	}
	if m := setMode.FindStringSubmatch(input.Op); m != nil {
		apply(t, g, policy.Change{Mode: policy.Mode(m[1])})
	}
	d := judge(g, callOf(input.Tool, input.Command, input.ReadOnly))

	var words struct {
		Contains []string `json:"message_contains"`
	}
	if json.Unmarshal(c.Expect(), &words) == nil && len(words.Contains) > 0 {
		for _, w := range words.Contains {
			if !strings.Contains(d.Reason, w) {
				t.Errorf("the reason %q does not name %q", d.Reason, w)
			}
		}
		return
	}
	var want string
	if json.Unmarshal(c.Expect(), &want) != nil || input.Tool == "" {
		t.Fatalf("a shape of which the policy package has no part: %s", c.Expect())
	}
	switch {
	case want == "allow" && settings.PermissionMode == "" && !input.ReadOnly:
		// The original runs everything if nothing is set. Here the mode is the end of the chain,
		// never a silent allow, and the default mode is default.
		if d.Effect != policy.Ask || d.By != "mode default" {
			t.Errorf("%s by %s, want a question of mode default", d.Effect, d.By)
		}
	case want == "allow" && input.Asker != "":
		if d.Effect != policy.Ask { // and the answer of the asker allows
			t.Errorf("%s because %s, want a question", d.Effect, d.Reason)
		}
	case want == "block" && settings.PermissionMode == "acceptEdits" && writesFiles(input.Tool):
		// "File edits auto-execute": a notebook is a file.
		if d.Effect != policy.Allow {
			t.Errorf("%s because %s, want an edit to be allowed", d.Effect, d.Reason)
		}
	case want == "allow":
		if d.Effect != policy.Allow {
			t.Errorf("%s because %s, want allow", d.Effect, d.Reason)
		}
	case want == "deny":
		if d.Effect != policy.Deny {
			t.Errorf("%s because %s, want deny", d.Effect, d.Reason)
		}
	default: // block, ask, ask-or-deny: it does not run without a person
		if d.Effect == policy.Allow || want == "ask" && d.Effect != policy.Ask {
			t.Errorf("%s because %s, want %s", d.Effect, d.Reason, want)
		}
	}
	if c.Message != "" && d.Effect != policy.Allow && !strings.Contains(d.Reason, c.Message) {
		t.Errorf("the reason is %q, want %q in it", d.Reason, c.Message)
	}
}
