package runtime

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// The shell passes any input to the command's standard input.
func TestCommandInput(t *testing.T) {
	for _, input := range []string{
		"", "one", "two\nlines", "ends\n", "$(touch bad) `touch bad` ${HOME} \\ 'x' \"y\"", "INPUT", "INPUT\nINPUT_\nrm -rf /", "INPUT\r\nx",
		"}\nexit 1\n{", "\x1b[31m", "é \u202e", "<<EOF", strings.Repeat("long line ", 5000),
	} {
		c := &commandModel{line: "tr -d '\\000'; echo; # a comment", stdin: true}
		line, err := c.command(input)
		if err != nil {
			t.Errorf("%.40q: %v", input, err)
			continue
		}
		for _, shell := range []string{"/bin/sh", "/bin/bash"} {
			out, err := exec.CommandContext(t.Context(), shell, "-c", line).CombinedOutput()
			want := strings.TrimSuffix(input, "\n") + "\n\n"
			if err != nil || string(out) != want {
				t.Errorf("%s, %.40q: %.60q, %v", shell, input, out, err)
			}
		}
	}
	c := &commandModel{line: "cat", stdin: true}
	for _, bad := range []string{"a\x00b", strings.Repeat("x", stdinLimit+1)} {
		if _, err := c.command(bad); err == nil {
			t.Errorf("%.10q passes", bad)
		}
	}
	if line, err := (&commandModel{line: "go test ./..."}).command("$(rm)"); err != nil || line != "go test ./..." {
		t.Errorf("%q, %v", line, err)
	}
}

// A command is called once for each input; its output is the answer.
func TestCommandModel(t *testing.T) {
	c := &commandModel{line: "go vet", stdin: false}
	var req model.Request
	say := func(it transcript.Item) {
		t.Helper()
		w, err := c.Encode(it.MustEncode())
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, w)
	}
	answer := func() transcript.Item {
		t.Helper()
		for e, err := range c.Stream(t.Context(), &req) {
			if err != nil {
				t.Fatal(err)
			}
			if a, ok := e.(model.Answer); ok {
				return a.Item
			}
		}
		t.Fatal("no answer")
		return transcript.Item{}
	}
	ids := map[string]bool{}
	for _, output := range []string{"first", "second"} {
		say(transcript.Item{ID: "in", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "go"}}})
		call := answer()
		use, ok := call.Parts[0].(transcript.ToolUse)
		var in struct{ Command string }
		if !ok || json.Unmarshal(use.Input, &in) != nil || in.Command != "go vet" || ids[use.ID] || call.Finish != transcript.FinishToolUse {
			t.Fatalf("%+v", call)
		}
		ids[use.ID] = true
		call.ID = "call"
		say(call)
		say(transcript.Item{ID: "out", Role: transcript.RoleTool, Parts: []transcript.Part{
			transcript.ToolResult{UseID: use.ID, Content: []transcript.Part{transcript.Text{Text: output}}},
		}})
		end := answer()
		if end.Text() != output || end.Finish != transcript.FinishStop {
			t.Fatalf("%+v", end)
		}
		end.ID = "end"
		say(end)
	}
}
