package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/tool/files"
	"github.com/holdfast-dev/holdfast/internal/tool/search"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// toolEnv is a folder with all tools over it.
type toolEnv struct {
	testing.TB
	dir      string
	registry *tool.Registry
}

func newToolEnv(t testing.TB) *toolEnv {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folders, err := workdir.Open(dir)
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
	return &toolEnv{TB: t, dir: dir, registry: r}
}

func (b *toolEnv) write(name, content string) {
	b.Helper()
	name = filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *toolEnv) read(name string) string {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

func (b *toolEnv) call(name string, in map[string]any) tool.Result {
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

// coreInput is what a case of core_tools gives: the tool's input, or what it needs to come
// about.
type coreInput struct {
	Tool        string
	Content     string // of the file
	Lines       int    // of the file
	Occurrences int    // of old in the file
	File        string
	Command     string
	Cwd         string // of the session: its folder, <tmp>
	Timeout     *int
	Offset      *int
	Limit       *int
	Old         *string
	New         *string
	ReplaceAll  *bool `json:"replace_all"`
	Pattern     *string
	Path        *string
	Mode        *string `json:"output_mode"`
	IgnoreCase  *bool   `json:"-i"`
	Around      *int    `json:"-C"`
	Glob        *string
	Type        *string
	HeadLimit   *int `json:"head_limit"`
}

// coreExpect is what a case expects of the result; what is not said is not compared, except
// that nothing is an error that is not said to be one.
type coreExpect struct {
	IsError  bool `json:"is_error"`
	OK       bool
	Contains string
	Content  *string // of the result as a whole
	Lines    int     // of the result's own text, without notes
	Replaced int     // of the file
	Numbers  bool    `json:"has_line_numbers"`
	Context  bool
	Skips    []string
	Keeps    []string
	Matches  []string
}

// checkCore runs a case of core_tools.
func checkCore(t *testing.T, c corpus.Case) {
	var in coreInput
	var want coreExpect
	c.Decode(t, c.Input(), &in)
	c.Decode(t, c.Expect(), &want)
	b := newToolEnv(t)
	name := b.writeFiles(in, want)
	r := b.call(in.Tool, in.call(name, want))
	got := textOf(r)
	want.Contains = strings.ReplaceAll(want.Contains, "<tmp>", b.dir)
	if r.IsError != want.IsError || want.OK && r.IsError || !strings.Contains(got, want.Contains) || want.Content != nil && got != *want.Content {
		t.Errorf("got %q, error %v; want %s", got, r.IsError, c.Expect())
	}
	own := r.Content[0].(transcript.Text).Text
	if n := strings.Count(own, "\n") + 1; want.Lines > 0 && n != want.Lines {
		t.Errorf("%d lines, want %d", n, want.Lines)
	}
	if want.Replaced > 0 {
		if n := strings.Count(b.read(name), "z"); n != want.Replaced {
			t.Errorf("%d are replaced, want %d", n, want.Replaced)
		}
	}
	if numbered := regexp.MustCompile(`(?m)^\S+:\d+:`).MatchString(got); want.Numbers && !numbered {
		t.Errorf("no numbers: %q", got)
	}
	if want.Context && got != "f.txt-1-a\nf.txt:2:b\nf.txt-3-c" {
		t.Errorf("no context: %q", got)
	}
	if list := append(slices.Clone(want.Keeps), want.Matches...); len(list) > 0 || len(want.Skips) > 0 {
		b.samePaths(own, list)
	} else if want.Matches != nil && strings.Contains(own, name) {
		t.Errorf("nothing matches, and it says %q", got)
	}
}

// samePaths reports what is not in a list of paths, and what should not be there.
func (b *toolEnv) samePaths(got string, want []string) {
	b.Helper()
	if len(want) == 0 {
		want = []string{"f.txt"}
	}
	paths := strings.Split(got, "\n")
	slices.Sort(paths)
	slices.Sort(want)
	if !slices.Equal(paths, want) {
		b.Errorf("got %q, want %q", paths, want)
	}
}

// writeFiles puts down the files that a case needs, and says what the file is called that it is about.
func (b *toolEnv) writeFiles(in coreInput, want coreExpect) string {
	b.Helper()
	content := in.Content
	switch {
	case in.Lines > 0:
		content = strings.Repeat("x\n", in.Lines)
	case in.Occurrences > 0:
		content = strings.Repeat("x ", in.Occurrences)
	case content == "" && in.Tool == "Edit":
		content = "say hello, a"
	case content == "" && in.Mode != nil && *in.Mode == "count":
		content = "x\nx\nb\nx\n"
	case content == "":
		content = "a\nb\nc\nd\n"
	}
	if in.Content == "" && in.Lines == 0 && in.Offset != nil {
		content = "a\nb"
	}
	name := "f.txt"
	if in.File != "" && !filepath.IsAbs(in.File) {
		name = filepath.Clean(in.File)
	}
	if len(want.Matches)+len(want.Keeps) == 0 {
		b.write(name, content)
	}
	for _, skip := range want.Skips { // a folder, or a pattern of names
		if dir, ok := strings.CutSuffix(skip, "/"); ok {
			b.write(dir+"/x.txt", content)
		} else {
			b.write(strings.ReplaceAll(skip, "*", "x"), content)
		}
	}
	for _, path := range append(slices.Clone(want.Keeps), want.Matches...) {
		b.write(path, content)
	}
	if in.Tool == "Edit" {
		b.call("Read", map[string]any{"file_path": name})
	}
	return name
}

// call is the input of the tool's call.
func (in coreInput) call(name string, want coreExpect) map[string]any {
	call := map[string]any{}
	set := func(key string, to any) {
		if v := reflect.ValueOf(to); !v.IsNil() {
			call[key] = to
		}
	}
	set("timeout", in.Timeout)
	set("offset", in.Offset)
	set("limit", in.Limit)
	set("pattern", in.Pattern)
	set("output_mode", in.Mode)
	set("-i", in.IgnoreCase)
	set("-C", in.Around)
	set("glob", in.Glob)
	set("type", in.Type)
	set("head_limit", in.HeadLimit)
	if want.Context {
		call["output_mode"] = "content"
	}
	if in.Path != nil {
		call["path"] = strings.ReplaceAll(*in.Path, "<file>", name)
	}
	file := name
	if in.File != "" {
		file = in.File
	}
	switch in.Tool {
	case "Bash":
		call["command"] = in.Command
	case "Read":
		call["file_path"] = file
	case "Write":
		call["file_path"], call["content"] = file, "fresh"
	case "Edit":
		call["file_path"], call["old_string"], call["new_string"] = file, "x", "z"
		if in.Old != nil {
			call["old_string"] = *in.Old
		}
		if in.New != nil {
			call["new_string"] = *in.New
		}
		set("replace_all", in.ReplaceAll)
	case "Glob":
		if in.Pattern == nil {
			call["pattern"] = "**/*"
		}
	case "Grep":
		if in.Pattern == nil {
			call["pattern"] = "b"
			if in.Mode != nil && *in.Mode == "count" {
				call["pattern"] = "x"
			}
		}
	}
	return call
}

func TestCoreToolsCorpus(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "core_tools"), map[string]func(*testing.T, corpus.Case){
		"core_tools": checkCore,
		// The original refuses a file as path; right is to search it. What does not
		// exist is refused in the original's words.
		"core_tools-043": corpus.Test(`{"input": {"tool":"Grep","path":"<file>"}, "expect": {"is_error":true,"contains":"Directory not found"}}`, func(t *testing.T, c corpus.Case) {
			b := newToolEnv(t)
			b.write("f.txt", "a\nb\n")
			r := b.call("Grep", map[string]any{"pattern": "b", "path": "f.txt"})
			if r.IsError || textOf(r) != "f.txt" {
				t.Errorf("got %q, error %v", textOf(r), r.IsError)
			}
			var want coreExpect
			c.Decode(t, c.Expect(), &want)
			r = b.call("Grep", map[string]any{"pattern": "b", "path": "missing"})
			if r.IsError != want.IsError || !strings.Contains(textOf(r), want.Contains) {
				t.Errorf("got %q, error %v", textOf(r), r.IsError)
			}
		}),
	}, nil)
}

// What cases of the same kind would say.
func TestCoreToolsNearTheCorpus(t *testing.T) {
	for _, c := range []struct{ input, expect string }{
		{`{"tool":"Bash","command":"exit 42"}`, `{"contains":"Exit code: 42"}`},
		{`{"tool":"Bash","command":"echo out; echo err >&2"}`, `{"content":"out\nerr\n"}`},
		{`{"tool":"Bash","command":"seq 100000"}`, `{"contains":"...(truncated)..."}`},
		{`{"tool":"Bash","command":""}`, `{"is_error":true,"contains":"must not be empty"}`},
		{`{"tool":"Bash","command":"echo hi","timeout":99999999}`, `{"content":"hi\n"}`},
		{`{"tool":"Bash","command":"printf '\\377'"}`, `{"content":"\ufffd"}`},
		{`{"tool":"Read","file":"none/there.txt","content":"x"}`, `{"ok":true}`},
		{`{"tool":"Read","file":"/dev/null/x"}`, `{"is_error":true}`},
		{`{"tool":"Read","content":"a\r\nb\r\n"}`, `{"content":"1\ta\n2\tb"}`},
		{`{"tool":"Read","content":"\ufeffa"}`, `{"content":"1\ta"}`},
		{`{"tool":"Read","content":"\u00e9\n\ud83d\ude00"}`, `{"content":"1\té\n2\t😀"}`},
		{`{"tool":"Read","content":"a\n\n\nb"}`, `{"content":"1\ta\n2\t\n3\t\n4\tb"}`},
		{`{"tool":"Read","content":"a\nb","offset":0,"limit":1}`, `{"contains":"1\ta","lines":1}`},
		{`{"tool":"Read","content":"a\nb","offset":5}`, `{"contains":"offset 5 is past the end"}`},
		{`{"tool":"Read","lines":1999}`, `{"lines":1999}`},
		{`{"tool":"Read","lines":2000}`, `{"lines":2000}`},
		{`{"tool":"Read","lines":2001}`, `{"lines":2000,"contains":"continue with offset 2000"}`},
		{`{"tool":"Read","lines":3000,"offset":2000}`, `{"lines":1000}`},
		{`{"tool":"Read","lines":3000,"limit":2500}`, `{"lines":2500}`},
		{`{"tool":"Read","limit":0}`, `{"is_error":true,"contains":"limit"}`},
		{`{"tool":"Read","limit":-1}`, `{"is_error":true,"contains":"limit"}`},
		{`{"tool":"Read","limit":1000000000}`, `{"is_error":true,"contains":"limit"}`},
		{`{"tool":"Read","offset":-1}`, `{"is_error":true,"contains":"offset"}`},
		{`{"tool":"Read","file":"x/../y/./../f.txt"}`, `{"ok":true}`},
		{`{"tool":"Write","file":"deep/er/new.txt","content":"x"}`, `{"is_error":true,"contains":"read it first"}`},
		{`{"tool":"Write","file":"/dev/full"}`, `{"is_error":true}`},
		{`{"tool":"Edit","old":"hello","new":""}`, `{"contains":"Successfully edited"}`},
		{`{"tool":"Edit","old":"HELLO","new":"x"}`, `{"is_error":true,"contains":"old_string not found"}`},
		{`{"tool":"Edit","old":"zzz","new":"y","replace_all":true}`, `{"is_error":true,"contains":"old_string not found"}`},
		{`{"tool":"Edit","old":"","new":""}`, `{"is_error":true,"contains":"must not be empty"}`},
		{`{"tool":"Edit","old":"a","new":"a","replace_all":true}`, `{"is_error":true,"contains":"must differ"}`},
		{`{"tool":"Edit","occurrences":1,"replace_all":true}`, `{"replaced":1}`},
		{`{"tool":"Edit","occurrences":1}`, `{"replaced":1}`},
		{`{"tool":"Edit","occurrences":17,"replace_all":false}`, `{"is_error":true,"contains":"appears 17 times"}`},
		{`{"tool":"Edit","occurrences":1000,"replace_all":true}`, `{"replaced":1000}`},
		{`{"tool":"Edit","content":"aaa","old":"aa","new":"z"}`, `{"is_error":true,"contains":"appears 2 times"}`},
		{`{"tool":"Edit","content":"one\r\ntwo\r\n","old":"one\ntwo","new":"z"}`, `{"replaced":1}`},
		{`{"tool":"Edit","content":"caf\u00e9","old":"\u00e9","new":"z"}`, `{"replaced":1}`},
		{`{"tool":"Glob","pattern":"**/*.zzz"}`, `{"contains":"No files matched the pattern"}`},
		{`{"tool":"Glob","path":"f.txt"}`, `{"is_error":true,"contains":"Directory not found"}`},
		{`{"tool":"Glob","pattern":"*.swift"}`, `{"matches":["a.swift"]}`},
		{`{"tool":"Glob","pattern":"x/**"}`, `{"matches":["x/a","x/y/b"]}`},
		{`{"tool":"Glob","pattern":"?.txt"}`, `{"matches":["b.txt","ü.txt"]}`},
		{`{"tool":"Glob","pattern":"*.{ts,tsx}"}`, `{"matches":["a.ts","b.tsx"]}`},
		{`{"tool":"Glob","pattern":"**/a b.txt"}`, `{"matches":["a b.txt","c d/a b.txt"]}`},
		{`{"tool":"Glob"}`, `{"skips":[".hidden/","a/node_modules/","a/.b/"],"keeps":[".env.example","a/node_modules.txt"]}`},
		{`{"tool":"Grep"}`, `{"skips":[".git/","node_modules/","*.jpg","*.zip"]}`},
		{`{"tool":"Grep","pattern":"nothing"}`, `{"contains":"No files matched the pattern"}`},
		{`{"tool":"Grep","pattern":"nothing","output_mode":"content"}`, `{"contains":"No matches found for pattern"}`},
		{`{"tool":"Grep","pattern":"("}`, `{"is_error":true,"contains":"Invalid regular expression"}`},
		{`{"tool":"Grep","pattern":"B","output_mode":"content"}`, `{"contains":"No matches found"}`},
		{`{"tool":"Grep","pattern":"B","-i":true,"output_mode":"content"}`, `{"content":"f.txt:2:b"}`},
		{`{"tool":"Grep","path":"<file>","output_mode":"content","-C":1}`, `{"context":true}`},
		{`{"tool":"Grep","path":"<file>","output_mode":"count"}`, `{"contains":":3"}`},
		{`{"tool":"Grep","pattern":".","output_mode":"content","head_limit":2}`, `{"lines":2}`},
		{`{"tool":"Grep","glob":"*.md"}`, `{"contains":"No files matched"}`},
		{`{"tool":"Grep","type":"txt"}`, `{"content":"f.txt"}`},
		{`{"tool":"Grep","path":"<file>","output_mode":"content","content":"a\r\nb\r\n"}`, `{"content":"f.txt:2:b"}`},
	} {
		t.Run(c.input, func(t *testing.T) {
			checkCore(t, corpus.NewCase(map[string]string{"input": c.input, "expect": c.expect}))
		})
	}
}

func TestToolExecutorCorpus(t *testing.T) {
	const agents = "the agent's loop runs calls; its tests have this case"
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "tool_executor"), map[string]func(*testing.T, corpus.Case){
		"tool_executor-006": corpus.Test(`{"expect": {"role":"user","content":[{"type":"tool_result","tool_use_id":"tu_001","content":"..."}]}}`, func(t *testing.T, c corpus.Case) {
			b := newToolEnv(t)
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
		}),
		"tool_executor-009": corpus.Test(`{"input": {"calls":["Write f","Read f"]}, "expect": {"read":"new"}}`, func(t *testing.T, c corpus.Case) {
			b := newToolEnv(t)
			b.call("Write", map[string]any{"file_path": "f", "content": "new"})
			if got := textOf(b.call("Read", map[string]any{"file_path": "f"})); got != "1\tnew" {
				t.Errorf("got %q", got)
			}
		}),
		"tool_executor-011": corpus.Test(`{"settings": {"allowedTools":["Read"]}, "input": {"call":"Bash"}, "expect": {"is_error":true}}`, func(t *testing.T, c corpus.Case) {
			var settings struct{ AllowedTools []string }
			var in struct{ Call string }
			c.Decode(t, c.Settings(), &settings)
			c.Decode(t, c.Input(), &in)
			b := newToolEnv(t)
			for name, r := range map[string]*tool.Registry{
				"only": b.registry.Select(settings.AllowedTools...), "without": b.registry.Exclude(in.Call),
			} {
				if _, found := r.Lookup(in.Call); found {
					t.Errorf("%s: %s may run", name, in.Call)
				}
			}
		}),
		"tool_executor-012": func(t *testing.T, c corpus.Case) {
			var in struct {
				Call  string
				Input map[string]any
			}
			var want struct {
				IsError bool   `json:"is_error"`
				Starts  string `json:"content_starts"`
			}
			c.Decode(t, c.Input(), &in)
			c.Decode(t, c.Expect(), &want)
			r := newToolEnv(t).call(in.Call, in.Input)
			if r.IsError != want.IsError || !strings.HasPrefix(textOf(r), want.Starts) {
				t.Errorf("got %q", textOf(r))
			}
		},
	}, map[string]string{
		"tool_executor-001": agents,
		"tool_executor-002": agents,
		"tool_executor-013": "a tool of a server is never read-only: TestToolsOfAServer of internal/tool/mcp has this case",
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
	specs := newToolEnv(t).registry.Specs()
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
