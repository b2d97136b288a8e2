package hook

import (
	"os/exec"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/hooktranscript"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/transcript"
)

// conversation has one item of each kind.
func conversation() []transcript.Encoded {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	items := []transcript.Item{
		{ID: "s", Role: transcript.RoleSystem, Parts: []transcript.Part{transcript.Text{Text: "be good"}}},
		{ID: "u", Role: transcript.RoleUser, Time: at, Parts: []transcript.Part{transcript.Text{Text: "read \"it\"\n"}}},
		{
			ID: "a", Role: transcript.RoleAssistant, Time: at, Model: "m-1", Finish: transcript.FinishToolUse, Usage: &transcript.Usage{Input: 5, Output: 7, CacheRead: 2},
			Parts: []transcript.Part{
				transcript.Thinking{Text: "hm", Signature: "sig"},
				transcript.Thinking{Redacted: true, Data: "zz"},
				transcript.Text{Text: "I read."},
				transcript.ToolUse{ID: "t1", Name: "Read", Input: []byte(`{"file_path":"/x"}`)},
				transcript.ToolUse{ID: "t2", Name: "Shot", Input: []byte(`{}`)},
			},
		},
		{ID: "r1", Role: transcript.RoleTool, Parts: []transcript.Part{transcript.ToolResult{UseID: "t1", Content: []transcript.Part{transcript.Text{Text: "one"}, transcript.Text{Text: "two"}}}}},
		{ID: "r2", Role: transcript.RoleTool, Parts: []transcript.Part{transcript.ToolResult{UseID: "t2", IsError: true, Content: []transcript.Part{
			transcript.Text{Text: "see"}, transcript.Media{MIME: "image/png", Data: []byte("png")}, transcript.File{URI: "https://x/y.pdf"},
		}}}},
		{ID: "n", Role: transcript.RoleNotification, Parts: []transcript.Part{transcript.Text{Text: "a file changed"}}},
		{ID: "o", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Structured{Value: []byte(`{"k":1}`)}, transcript.Custom{Kind: "mine", Value: []byte(`1`)}}},
		{ID: "z", Role: transcript.RoleAssistant, Finish: transcript.FinishStop, Parts: []transcript.Part{transcript.Text{Text: "done"}}},
	}
	var list []transcript.Encoded
	for _, it := range items {
		list = append(list, it.MustEncode())
	}
	return list
}

// A script reads it as it reads Claude Code's.
func TestMirrorForScripts(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		testneed.Need(t, "no jq on the PATH: apt-get install jq makes this run")
	}
	f := newFixture(t, nil)
	m, err := hooktranscript.New(f.temp, &hooktranscript.Options{Name: "t.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Load("s1", conversation()); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		`jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text' "$T" | tail -n 1`:                  "done",
		`jq -r 'select(.type=="assistant") | .message.content[]? | select(.type=="tool_use") | .name + ":" + .id' "$T"`:             "Read:t1\nShot:t2",
		`jq -s 'map(select(.type=="user" and (.message.content | type == "array" and any(.type == "tool_result")))) | length' "$T"`: "2",
		`jq -s '[.[] | .message.usage // empty | .output_tokens] | add' "$T"`:                                                       "7",
		`grep -c '"is_error":true' "$T"`: "1",
	} {
		script := `T=$(jq -r .transcriptPath); ` + script
		a, err := f.do(t, Definition{Event: Stop, Dialect: dialectSeed, Command: script}, Input{TranscriptPath: "/tmp/t.jsonl"})
		if err != nil || a.Output == nil || a.Output.Message != want {
			t.Errorf("%s\nprints %+v, want %q; %v", script, a.Output, want, err)
		}
	}
}
