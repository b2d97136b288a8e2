package compose

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestRequestParts(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "AGENTS.md")
	if err := os.WriteFile(file, []byte("Use tabs.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &env.Env{Vars: []string{"HOME=" + home, "HOLDFAST_HOME=" + home}, Managed: filepath.Join(home, "none")}
	list, err := RequestParts(&Request{Env: e, Spec: &runspec.Spec{}, Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	size := func(name string) int {
		i := slices.IndexFunc(list, func(p ContextPart) bool { return p.Name == name })
		if i < 0 {
			t.Fatalf("no %s in %+v", name, list)
		}
		return list[i].Bytes
	}
	if size("system prompt") < 500 || size("tools") < 5000 || size("skills") != 0 {
		t.Errorf("%+v", list)
	}
	if n := len(list); n != 4 || list[3].Bytes < len("Use tabs.\n") {
		t.Errorf("%+v", list)
	}
}

func TestTranscriptParts(t *testing.T) {
	item := func(role transcript.Role, parts ...transcript.Part) transcript.Encoded {
		return transcript.Item{ID: "i", Role: role, Parts: parts}.MustEncode()
	}
	got := TranscriptParts([]transcript.Encoded{
		item(transcript.RoleUser, transcript.Text{Text: "12345"}),
		item(transcript.RoleAssistant, transcript.Text{Text: "123"}, transcript.ToolUse{ID: "u", Name: "Bash", Input: []byte(`{"command":"ls"}`)}),
		item(transcript.RoleTool, transcript.ToolResult{UseID: "u", Content: []transcript.Part{transcript.Text{Text: "1234567"}}}),
	})
	if want := []ContextPart{{"messages", 8}, {"tool calls", 20}, {"tool results", 7}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
