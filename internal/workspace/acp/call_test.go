package acp

import (
	"encoding/json"
	"testing"
)

// Tool calls are translated to the names of Claude Code's tools by what the agent reports about them.
func TestUse(t *testing.T) {
	for _, c := range []struct{ call, content, name, input string }{
		{`{"kind":"execute","rawInput":{"command":"ls -la"}}`, ``, "Bash", `{"command":"ls -la"}`},
		{`{"kind":"execute","rawInput":{"command":["git","commit","-m","it's"]}}`, ``, "Bash", `{"command":"git commit -m 'it'\\''s'"}`},
		{`{"kind":"execute","rawInput":{"command":[]}}`, ``, "execute", `{"input":{"command":[]},"title":""}`},
		{`{"kind":"execute","title":"ls"}`, ``, "execute", `{"title":"ls"}`},
		{`{"kind":"edit"}`, `[{"type":"diff","path":"/a","newText":"x"}]`, "Write", `{"content":"x","file_path":"/a"}`},
		{`{"kind":"edit"}`, `[{"type":"diff","path":"/a","oldText":"y","newText":"x"}]`, "Edit", `{"file_path":"/a","new_string":"x","old_string":"y"}`},
		{
			`{"kind":"edit"}`, `[{"type":"diff","path":"/a","oldText":"y","newText":"x"},{"type":"diff","path":"/b","newText":"z"}]`, "apply_patch",
			`{"changes":[{"diff":"- y\n+ x\n","kind":"update","path":"/a"},{"diff":"+ z\n","kind":"update","path":"/b"}]}`,
		},
		{
			`{"kind":"edit","locations":[{"path":"/other"}]}`, `[{"type":"diff","path":"/a","newText":"x"}]`, "apply_patch",
			`{"changes":[{"diff":"+ x\n","kind":"update","path":"/a"},{"diff":"","kind":"update","path":"/other"}]}`,
		},
		{`{"kind":"edit","rawInput":{"path":"/a","content":"x"}}`, ``, "Write", `{"content":"x","file_path":"/a"}`},
		{`{"kind":"edit","title":"something"}`, ``, "edit", `{"title":"something"}`},
		{`{"kind":"delete","locations":[{"path":"/a"}]}`, ``, "apply_patch", `{"changes":[{"diff":"","kind":"delete","path":"/a"}]}`},
		{
			`{"kind":"move","rawInput":{"source":"/a","destination":"/b"}}`, ``, "apply_patch",
			`{"changes":[{"diff":"","kind":"update","path":"/a"},{"diff":"","kind":"update","path":"/b"}]}`,
		},
		{`{"kind":"read","locations":[{"path":"/a"}]}`, ``, "Read", `{"file_path":"/a"}`},
		{`{"kind":"read","locations":[{"path":"/w/a/x"},{"path":"/w/b"}]}`, ``, "Grep", `{"path":"/w","pattern":"","title":""}`},
		{`{"kind":"read"}`, ``, "read", `{"title":""}`},
		{`{"kind":"search","rawInput":{"pattern":"x"}}`, ``, "Grep", `{"pattern":"x","title":""}`},
		{`{"kind":"fetch","title":"Fetch https://example.org/x"}`, ``, "WebFetch", `{"url":"https://example.org/x"}`},
		{`{"kind":"fetch","title":"Fetch it"}`, ``, "fetch", `{"title":"Fetch it"}`},
		{`{"title":"add (srv)","rawInput":{"a":1}}`, ``, "other", `{"input":{"a":1},"title":"add (srv)"}`},
		{
			`{"kind":"other","rawInput":{"file_path":"/a"},"_meta":{"claudeCode":{"toolName":"Write"}}}`, ``, "Write", `{"file_path":"/a"}`,
		},
	} {
		var f callFields
		if err := json.Unmarshal([]byte(c.call), &f); err != nil {
			t.Fatal(err)
		}
		var k call
		k.take(&f, json.RawMessage(c.content))
		name, input := k.toolUse()
		got, err := json.Marshal(input)
		if err != nil || name != c.name || string(got) != c.input {
			t.Errorf("%s %s\nis %s %s\nwant %s %s", c.call, c.content, name, got, c.name, c.input)
		}
	}
}

func TestCommonDir(t *testing.T) {
	for want, paths := range map[string][]string{
		"/a/b": {"/a/b/c", "/a/b/d"}, "/": {"/a", "/b"}, "/x": {"/x", "/x/y"}, "/a": {"/a/bc", "/a/b"}, ".": {"a", "b/c"},
	} {
		if got := commonDir(paths); got != want {
			t.Errorf("above %q is %q", paths, got)
		}
	}
}
