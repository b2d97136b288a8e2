package scripted

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ name, play, want string }{
		{"no YAML", "steps: [", "1:8: "},
		{"empty", "", "the file is empty"},
		{"a comment only", "# nothing\n", "the file is empty"},
		{"two documents", "steps: [{text: a}]\n---\nsteps: [{text: b}]\n", "the file has 2 documents"},
		{"no steps", "name: x\n", "steps are missing"},
		{"no map", "- text: a\n", "1:1: "},
		{"unknown key", "steps:\n  - text: a\n    txt: b\n", `3:5: unknown field "txt"`},
		{"unknown key on top", "step:\n  - text: a\n", `1:1: unknown field "step"`},
		{"unknown key in a use", "steps:\n  - tool_uses:\n      - {tool: T, args: {}}\n", `3:19: unknown field "args"`},
		{"double key", "steps:\n  - text: a\n    text: b\n", "3:5: "},
		{"wrong type", "steps:\n  - text: [a]\n", "2:11: "},
		{"wrong number", "chunk: many\nsteps: [{text: a}]\n", "1:8: "},
		{"wrong duration", "steps:\n  - text: a\n    delay: {before: soon}\n", `3:21: before: "soon" is not a duration`},
		{"duration without a unit", "delay: {chunk: 20}\nsteps:\n  - text: a\n", `1:16: chunk: "20" is not a duration`},
		{"retry without a unit", "steps:\n  - error: {kind: network, retry_after: 2}\n", `2:41: retry_after: "2" is not a duration`},
		{"negative chunk", "chunk: -1\nsteps: [{text: a}]\n", "1:8: chunk: must not be negative"},
		{"negative context", "context: -1\nsteps: [{text: a}]\n", "1:10: context"},
		{"negative output", "max_output: -1\nsteps: [{text: a}]\n", "1:13: max_output"},
		{"negative delay", "delay: {chunk: -1s}\nsteps: [{text: a}]\n", "1:16: delay.chunk"},
		{"negative delay of a step", "steps: [{text: a, delay: {before: -1s}}]\n", "1:35: steps[0].delay.before"},
		{"negative chunk of a step", "steps: [{text: a, chunk: -2}]\n", "1:26: steps[0].chunk"},
		{"empty step", "steps:\n  - text: a\n  - name: b\n", "3:9: steps[1]: a step needs text, thinking, tool_uses or error"},
		{"same name", "steps:\n  - {name: a, text: a}\n  - {name: a, text: b}\n", `3:12: steps[1].name: duplicate step name "a"`},
		{"name like a number", "steps:\n  - {name: '#2', text: a}\n", "2:12: steps[0].name: must not start with #"},
		{"finish", "steps:\n  - {text: a, finish: end}\n", `2:23: steps[0].finish: "end" is not one of stop`},
		{"empty condition", "steps:\n  - {text: a, when: {}}\n", "steps[0].when: a condition is missing"},
		{"regular expression", "steps:\n  - text: a\n    when: {user_matches: '('}\n", "3:26: steps[0].when.user_matches: error parsing regexp"},
		{"other expression", "steps:\n  - text: a\n    expect: {result_matches: '['}\n", "3:30: steps[0].expect.result_matches: error parsing regexp"},
		{"unknown step", "steps:\n  - text: a\n    when: {after: b}\n", `3:19: steps[0].when.after: unknown step "b"`},
		{"unknown step expected", "steps:\n  - text: a\n    expect: {after: b}\n", `3:21: steps[0].expect.after: unknown step "b"`},
		{"no tool", "steps:\n  - tool_uses: [{input: {}}]\n", "steps[0].tool_uses[0]: a tool is missing"},
		{"two inputs", "steps:\n  - tool_uses: [{tool: T, input: {a: 1}, raw_input: x}]\n", "steps[0].tool_uses[0].raw_input: input is already set"},
		{"input that is not JSON", "steps:\n  - tool_uses: [{tool: T, input: {a: .nan}}]\n", "steps[0].tool_uses[0].input: not valid as JSON"},
		{"same id", "steps:\n  - tool_uses: [{tool: T, id: a}, {tool: T, id: a}]\n", "steps[0].tool_uses[1].id: duplicate id in this step"},
		{"no kind", "steps:\n  - error: {message: x}\n", "steps[0].error: a kind is missing"},
		{"unknown kind", "steps:\n  - error: {kind: fire}\n", `2:19: steps[0].error.kind: "fire" is not one of rate_limit`},
		{"negative times", "steps:\n  - error: {kind: network, times: -1}\n", "2:35: steps[0].error.times"},
		{"negative wait", "steps:\n  - error: {kind: network, retry_after: -1s}\n", "2:41: steps[0].error.retry_after"},
		{"negative chunks", "steps:\n  - error: {kind: network, after_chunks: -1}\n", "2:42: steps[0].error.after_chunks"},
	} {
		_, err := New([]byte(tt.play), nil)
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		if _, ok := errors.AsType[*positionError](err); !ok || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// All keys, as YAML and as JSON.
func TestParse(t *testing.T) {
	isError := true
	want := scriptFile{
		Name: "n", Context: 10, MaxOutput: 5, Price: &model.Price{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4},
		Chunk: 7, Delay: scriptDelay{Before: time.Second, Chunk: time.Millisecond},
		Steps: []scriptStep{{
			Name: "s", When: &stepMatch{Any: true},
			Expect: &stepMatch{
				User: "u", UserMatches: "um", Notification: "to", NotificationMatches: "tm", Tool: "t", Result: "r", ResultMatches: "rm", IsError: &isError,
				System: "sys", After: "s", MinItems: 1, MaxItems: 2,
			},
			Thinking: "th", Text: "tx 😀", ToolUses: []scriptToolUse{{ID: "i", Tool: "T", RawInput: "{"}},
			Finish: transcript.FinishMaxTokens, Usage: &transcript.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5},
			Error: &scriptFailure{Kind: "auth", Message: "m", Status: 418, RetryAfter: time.Minute, AfterChunks: 1, Times: 2},
			Chunk: 3, Delay: &scriptDelay{Before: time.Hour},
		}},
	}
	for _, file := range []string{"all.yaml", "all.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "play.yaml")
	if _, err := Load(path, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte("steps:\n  - tex: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, nil); err == nil || !strings.HasPrefix(err.Error(), "scripted: "+path+":2:5: ") {
		t.Errorf("a fault in a file: %v", err)
	}
	if _, err := New([]byte("name: n"), nil); err == nil || !strings.HasPrefix(err.Error(), "scripted: 1:") || !strings.Contains(err.Error(), "steps are missing") {
		t.Errorf("an empty play: %v", err)
	}
}

// The play of the package doc is a play.
func TestDocScript(t *testing.T) {
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	text := string(src)
	text = text[strings.Index(text, "name: count"):strings.Index(text, "// # Which step")]
	text = regexp.MustCompile(`(?m)^//\t?`).ReplaceAllString(text, "")
	p, err := parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(p.Steps) != 6 {
		t.Errorf("%d steps", len(p.Steps))
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"all.yaml", "all.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(mending))
	f.Add([]byte("steps: [{text: &a x, thinking: *a}]"))
	f.Add([]byte("steps: [{tool_uses: [{tool: T, input: {1: 2, ? [a] : b}}]}]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := New(b, &Options{Sleep: noSleep})
		if err != nil {
			if _, ok := errors.AsType[*positionError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		k := &conversation{t: t}
		k.user("hi")
		_, _, _ = stream(t.Context(), m, k.request(m))
	})
}

// So are those of the page about plays.
func TestDocPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "scripted.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) < 4 {
		t.Errorf("the page has %d plays", len(blocks))
	}
	for _, b := range blocks {
		if _, err := New(b[1], nil); err != nil {
			t.Errorf("%v in\n%s", err, b[1])
		}
	}
}
