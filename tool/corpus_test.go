package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/tool/files"
	"github.com/holdfast-dev/holdfast/tool/search"
	"github.com/holdfast-dev/holdfast/tool/shell"
	"github.com/holdfast-dev/holdfast/transcript"
)

// bench is a folder with all tools over it.
type bench struct {
	testing.TB
	dir      string
	registry *tool.Registry
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folders, err := tool.OpenFolders(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folders.Close() })
	f, err := files.New(folders, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := search.New(folders, nil)
	if err != nil {
		t.Fatal(err)
	}
	sh, err := shell.New(folders, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.NewRegistry(append(append(f.Tools(), s.Tools()...), sh.Tools()...)...)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{TB: t, dir: dir, registry: r}
}

func (b *bench) write(name, content string) {
	b.Helper()
	name = filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

func (b *bench) call(name string, in map[string]any) tool.Result {
	b.Helper()
	t, ok := b.registry.Lookup(name)
	if !ok {
		b.Fatalf("no tool %s", name)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		b.Fatal(err)
	}
	r, err := t.Run(b.Context(), &tool.Call{ID: "tu_001", Tool: name, Input: raw})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// expect is what most cases say of a result.
type expect struct {
	IsError  bool   `json:"is_error"`
	Contains string `json:"contains"`
	Content  string `json:"content"`
}

func (b *bench) check(c corpus.Case, r tool.Result) {
	b.Helper()
	var want expect
	c.Decode(b, c.Expect, &want)
	want.Contains = strings.ReplaceAll(want.Contains, "<tmp>", b.dir)
	got := textOf(r)
	if r.IsError != want.IsError || !strings.Contains(got, want.Contains) || want.Content != "" && got != want.Content {
		b.Errorf("got %q, error %v; want %s", got, r.IsError, c.Expect)
	}
}

// simple runs a case whose input is the tool's own, on a file that was read.
func simple(tool, content string, in map[string]any) func(*testing.T, corpus.Case) {
	return func(t *testing.T, c corpus.Case) {
		b := newBench(t)
		b.write("f.txt", content)
		if tool == "Edit" {
			b.call("Read", map[string]any{"file_path": "f.txt"})
		}
		b.check(c, b.call(tool, in))
	}
}

func TestCoreToolsCorpus(t *testing.T) {
	edit := func(old, fresh string, all bool) map[string]any {
		return map[string]any{"file_path": "f.txt", "old_string": old, "new_string": fresh, "replace_all": all}
	}
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "core_tools"), map[string]func(*testing.T, corpus.Case){
		"core_tools-003": simple("Bash", "", map[string]any{"command": "pwd"}),
		"core_tools-004": simple("Bash", "", map[string]any{"command": "sleep 30", "timeout": 100}),
		"core_tools-012": simple("Read", "a\nb", map[string]any{"file_path": "f.txt"}),
		"core_tools-013": simple("Read", "a\nb", map[string]any{"file_path": "f.txt", "offset": 1, "limit": 1}),
		"core_tools-014": func(t *testing.T, c corpus.Case) {
			b := newBench(t)
			b.write("f.txt", strings.Repeat("x\n", 3000))
			r := b.call("Read", map[string]any{"file_path": "f.txt"})
			shown := r.Content[0].(transcript.Text).Text
			if n := strings.Count(shown, "\n") + 1; n != 2000 {
				t.Errorf("%d lines", n)
			}
			if note := r.Content[1].(transcript.Text).Text; note != "[lines 1-2000 of 3000; read on with offset 2000]" {
				t.Errorf("note %q", note)
			}
		},
		"core_tools-018": func(t *testing.T, c corpus.Case) {
			b := newBench(t)
			b.write("b", "found")
			if got := textOf(b.call("Read", map[string]any{"file_path": "a/../b"})); got != "1\tfound" {
				t.Errorf("got %q", got)
			}
		},
		"core_tools-020": func(t *testing.T, c corpus.Case) {
			b := newBench(t)
			b.write("f.txt", "")
			b.check(c, b.call("Write", map[string]any{"file_path": "/dev/null/x", "content": "x"}))
			b.check(c, b.call("Write", map[string]any{"file_path": "f.txt/x", "content": "x"}))
		},
		"core_tools-021": simple("Edit", "say hello", edit("hello", "bye", false)),
		"core_tools-022": simple("Edit", "say hello", edit("zzz", "bye", false)),
		"core_tools-023": simple("Edit", "x y x", edit("x", "z", false)),
		"core_tools-024": func(t *testing.T, c corpus.Case) {
			b := newBench(t)
			b.write("f.txt", "x x x")
			b.call("Read", map[string]any{"file_path": "f.txt"})
			got := textOf(b.call("Edit", edit("x", "z", true)))
			if b.read("f.txt") != "z z z" || !strings.Contains(got, "(3 replacements)") {
				t.Errorf("%q, %q", b.read("f.txt"), got)
			}
		},
		"core_tools-025": simple("Edit", "a", edit("a", "a", false)),
		"core_tools-026": simple("Edit", "a", edit("", "b", false)),
		"core_tools-029": simple("Glob", "", map[string]any{"pattern": "*.zzz"}),
		"core_tools-030": simple("Glob", "", map[string]any{"pattern": "*", "path": "nope"}),
		"core_tools-031": func(t *testing.T, c corpus.Case) {
			var want struct{ Skips, Keeps []string }
			c.Decode(t, c.Expect, &want)
			b := newBench(t)
			for _, dir := range want.Skips {
				b.write(dir+"x", "")
			}
			for _, name := range want.Keeps {
				b.write(name, "")
			}
			if got := textOf(b.call("Glob", map[string]any{"pattern": "**/*"})); got != strings.Join(want.Keeps, "\n") {
				t.Errorf("got %q", got)
			}
		},
		"core_tools-032": func(t *testing.T, c corpus.Case) {
			var in struct{ Pattern string }
			var want struct{ Matches []string }
			c.Decode(t, c.Input, &in)
			c.Decode(t, c.Expect, &want)
			b := newBench(t)
			b.write("no.txt", "")
			for _, name := range want.Matches {
				b.write(name, "")
			}
			got := strings.Fields(textOf(b.call("Glob", map[string]any{"pattern": in.Pattern})))
			if len(got) != len(want.Matches) {
				t.Errorf("got %q, want %q", got, want.Matches)
			}
		},
		"core_tools-035": func(t *testing.T, c corpus.Case) {
			b := newBench(t)
			b.write("f.txt", "a\nb\n")
			if got := textOf(b.call("Grep", map[string]any{"pattern": "b", "output_mode": "content"})); got != "f.txt:2:b" {
				t.Errorf("got %q", got)
			}
		},
		"core_tools-036": simple("Grep", "x\nx\nx\n", map[string]any{"pattern": "x", "output_mode": "count"}),
		"core_tools-041": func(t *testing.T, c corpus.Case) {
			b := newBench(t)
			b.write("f.txt", "a\nb\nc\nd\n")
			got := textOf(b.call("Grep", map[string]any{"pattern": "b", "output_mode": "content", "-C": 1}))
			if got != "f.txt-1-a\nf.txt:2:b\nf.txt-3-c" {
				t.Errorf("got %q", got)
			}
		},
		"core_tools-042": func(t *testing.T, c corpus.Case) {
			b := newBench(t)
			for _, name := range []string{".hidden/x.txt", "x.png", "x.txt"} {
				b.write(name, "needle")
			}
			if got := textOf(b.call("Grep", map[string]any{"pattern": "needle"})); got != "x.txt" {
				t.Errorf("got %q", got)
			}
		},
		// The original refuses a file as path; right is to search it. What does not
		// exist is refused in the original's words.
		"core_tools-043": func(t *testing.T, c corpus.Case) {
			b := newBench(t)
			b.write("f.txt", "a\nb\n")
			r := b.call("Grep", map[string]any{"pattern": "b", "path": "f.txt"})
			if r.IsError || textOf(r) != "f.txt" {
				t.Errorf("got %q, error %v", textOf(r), r.IsError)
			}
			b.check(c, b.call("Grep", map[string]any{"pattern": "b", "path": "missing"}))
		},
	}, nil)
}

func TestToolExecutorCorpus(t *testing.T) {
	const agents = "the agent's loop runs calls; its tests have this case"
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "tool_executor"), map[string]func(*testing.T, corpus.Case){
		"tool_executor-006": func(t *testing.T, c corpus.Case) {
			b := newBench(t)
			for isError, command := range map[bool]string{false: "echo ok", true: "kill $$"} {
				r := b.call("Bash", map[string]any{"command": command})
				item := transcript.Item{Role: transcript.RoleTool, Parts: []transcript.Part{
					transcript.ToolResult{UseID: "tu_001", Content: r.Content, IsError: r.IsError},
				}}
				raw, err := json.Marshal(item)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(raw), `"is_error":true`) != isError || strings.Contains(string(raw), `"is_error":false`) {
					t.Errorf("%s: %s", command, raw)
				}
			}
		},
		"tool_executor-009": func(t *testing.T, c corpus.Case) {
			b := newBench(t)
			b.call("Write", map[string]any{"file_path": "f", "content": "new"})
			if got := textOf(b.call("Read", map[string]any{"file_path": "f"})); got != "1\tnew" {
				t.Errorf("got %q", got)
			}
		},
		"tool_executor-011": func(t *testing.T, c corpus.Case) {
			var settings struct{ AllowedTools []string }
			var in struct{ Call string }
			c.Decode(t, c.Settings, &settings)
			c.Decode(t, c.Input, &in)
			b := newBench(t)
			for name, r := range map[string]*tool.Registry{
				"only": b.registry.Only(settings.AllowedTools...), "without": b.registry.Without(in.Call),
			} {
				if _, found := r.Lookup(in.Call); found {
					t.Errorf("%s: %s may run", name, in.Call)
				}
			}
		},
		"tool_executor-012": func(t *testing.T, c corpus.Case) {
			var in struct {
				Call  string
				Input map[string]any
			}
			var want struct {
				Starts string `json:"content_starts"`
			}
			c.Decode(t, c.Input, &in)
			c.Decode(t, c.Expect, &want)
			r := newBench(t).call(in.Call, in.Input)
			if !r.IsError || !strings.HasPrefix(textOf(r), want.Starts) {
				t.Errorf("got %q", textOf(r))
			}
		},
	}, map[string]string{
		"tool_executor-001": agents,
		"tool_executor-002": agents,
		"tool_executor-013": "a tool of a server is never read-only: TestToolsOfAServer of tool/mcp has this case",
	})
}

// The names and fields are Claude Code's, so that hooks written for it work.
func TestToolsHaveTheFieldsThatHooksKnow(t *testing.T) {
	want := map[string]string{
		"Read":         "file_path offset limit",
		"Write":        "file_path content",
		"Edit":         "file_path old_string new_string replace_all",
		"MultiEdit":    "file_path edits",
		"NotebookEdit": "notebook_path cell_id cell_number new_source cell_type edit_mode",
		"Glob":         "pattern path",
		"Grep":         "pattern path glob type output_mode -i -n -A -B -C head_limit multiline",
		"Bash":         "command timeout description",
	}
	specs := newBench(t).registry.Specs()
	if len(specs) != len(want) {
		t.Errorf("%d tools, want %d", len(specs), len(want))
	}
	for _, s := range specs {
		var schema struct {
			Properties map[string]struct{ Type, Description string }
		}
		if err := json.Unmarshal(s.Input, &schema); err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(want[s.Name])
		if len(schema.Properties) != len(fields) {
			t.Errorf("%s: %s", s.Name, s.Input)
		}
		for _, f := range fields {
			if p := schema.Properties[f]; p.Type == "" || p.Description == "" {
				t.Errorf("%s: field %s: %+v", s.Name, f, p)
			}
		}
		if readOnly := strings.Contains("Read Glob Grep", s.Name); s.ReadOnly != readOnly {
			t.Errorf("%s: read-only %v", s.Name, s.ReadOnly)
		}
	}
}
