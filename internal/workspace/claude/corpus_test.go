package claude_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/workspace/claude"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// blocksOf returns the items made from a message with a case's content.
func blocksOf(t *testing.T, content any) []transcript.Part {
	t.Helper()
	b, err := json.Marshal(map[string]any{"type": "assistant", "message": map[string]any{"id": "m", "content": content}})
	if err != nil {
		t.Fatal(err)
	}
	n := &notes{}
	if _, _, err := replay(t, lines(string(b), over), vendor.Turn{}, n); err != nil || len(n.items) != 1 {
		t.Fatalf("%v, %+v", err, n.items)
	}
	return n.items[0].Parts
}

func TestCorpusTranscripts(t *testing.T) {
	links := "package workspace looks at files that a container writes"
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "trn"), map[string]func(*testing.T, corpus.Case){
		"pa-trn-001": corpus.Test(`{"given": {"content":"hello world"}, "when": ["blocks"], "expect": {"blocks":[{"type":"text","text":"hello world"}]}}`, func(t *testing.T, c corpus.Case) {
			var in struct{ Content any }
			c.Decode(t, c.Setup(), &in)
			if got := blocksOf(t, in.Content); len(got) != 1 || got[0].(transcript.Text).Text != "hello world" {
				t.Errorf("%+v", got)
			}
		}),
		"pa-trn-003": corpus.Test(`{"given": {"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}},{"type":"tool_result","toolUseId":"t1","content":"file.txt","isError":false}]}, "when": ["blocks"], "expect": {"blocks":"one tool_use with result file.txt, isError false"}}`, func(t *testing.T, c corpus.Case) {
			var in struct{ Content any }
			c.Decode(t, c.Setup(), &in)
			got := blocksOf(t, in.Content)
			if len(got) != 2 {
				t.Fatalf("%+v", got)
			}
			use, result := got[0].(transcript.ToolUse), got[1].(transcript.ToolResult)
			if use.ID != "t1" || result.UseID != "t1" || result.Text() != "file.txt" || result.IsError {
				t.Errorf("%+v", got)
			}
		}),
		"pa-trn-009": corpus.Test(`{"given": {"content":"tool_use only"}, "when": ["plain text"], "expect": {"text":null}}`, func(t *testing.T, _ corpus.Case) {
			got := blocksOf(t, []any{map[string]any{"type": "tool_use", "id": "t1", "name": "Bash", "input": map[string]any{}}})
			if text := (transcript.Item{Parts: got}).Text(); text != "" {
				t.Errorf("%q", text)
			}
		}),
		"pa-trn-011": corpus.Test(`{"given": {"transcript in":"any encoded-cwd directory"}, "when": ["find"], "expect": {"found":true}}`, func(t *testing.T, _ corpus.Case) {
			for _, dir := range []string{"/work", "/work/a.b c", "/home/agent/é"} {
				home := t.TempDir()
				file := filepath.Join(home, claude.Driver{}.Transcript("S", dir))
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if rest := strings.TrimPrefix(filepath.Dir(file), filepath.Join(home, ".claude", "projects")+"/"); strings.ContainsAny(rest, "/. é") {
					t.Errorf("%s: %s", dir, rest)
				}
			}
		}),
		"pa-trn-019": corpus.Test(`{"given": {"state":"streamed text blocks 'Hello' then 'Bye' with no tool between"}, "when": ["deltas"], "expect": {"delta 2":"Bye"}}`, func(t *testing.T, _ corpus.Case) { deltas(t, "Hello", "Bye") }),
		"pa-trn-020": corpus.Test(`{"given": {"state":"text then tool_use then text"}, "when": ["deltas"], "expect": {"second text":"starts from empty"}}`, func(t *testing.T, _ corpus.Case) { deltas(t, "Hello", "", "Hello there") }),
	}, map[string]string{
		"pa-trn-013": "package vendoragent sends the history from the host's log if the file is missing",
		"pa-trn-015": links, "pa-trn-016": links, "pa-trn-017": links,
	})
}

// deltas sends texts, with a tool use in place of an empty one, and checks that each delta is the added text.
func deltas(t *testing.T, texts ...string) {
	t.Helper()
	var wire, want []string
	for _, text := range texts {
		if text == "" {
			wire = append(wire, `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}`)
			continue
		}
		want = append(want, "delta "+text)
		wire = append(wire, `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"`+text+`"}}}`)
	}
	n := &notes{}
	if _, _, err := replay(t, lines(append(wire, over)...), vendor.Turn{}, n); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range n.calls {
		if strings.HasPrefix(s, "delta ") {
			got = append(got, s)
		}
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q", n.calls)
	}
}
