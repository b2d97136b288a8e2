package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/files"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// filesEnv is a folder with the file tools over it.
type filesEnv struct {
	testing.TB
	dir     string
	folders *workdir.Folders
	tools   *tool.Registry
}

func newFilesEnv(t testing.TB, opts *files.Options) *filesEnv {
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
	f, err := files.New(folders, opts)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.NewRegistry(f.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	return &filesEnv{TB: t, dir: dir, folders: folders, tools: r}
}

func (d *filesEnv) put(name, content string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o644); err != nil {
		d.Fatal(err)
	}
}

func (d *filesEnv) get(name string) string {
	d.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.Fatal(err)
	}
	return string(data)
}

func (d *filesEnv) newCall(name string, in any) (tool.Tool, *tool.Call) {
	d.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		d.Fatal(err)
	}
	t, _ := d.tools.Lookup(name)
	return t, &tool.Call{ID: "c", Tool: name, Input: raw}
}

func (d *filesEnv) call(name string, in any) tool.Result {
	d.Helper()
	t, call := d.newCall(name, in)
	r, err := t.Run(d.Context(), call)
	if err != nil {
		d.Fatal(err)
	}
	return r
}

func (d *filesEnv) requests(name string, in any) []policy.Request {
	d.Helper()
	t, call := d.newCall(name, in)
	r, err := t.Requests(call)
	if err != nil {
		d.Fatal(err)
	}
	return r
}

func (d *filesEnv) read(name string) string  { return textOf(d.call("Read", read{Path: name})) }
func (d *filesEnv) write(n, c string) string { return textOf(d.call("Write", write{n, c})) }
func (d *filesEnv) edit(name, old, fresh string) string {
	return textOf(d.call("Edit", edit{Path: name, Old: old, New: fresh}))
}

type read struct {
	Path   string `json:"file_path"`
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

type write struct {
	Path    string `json:"file_path"`
	Content string `json:"content"`
}

type edit struct {
	Path string `json:"file_path,omitempty"`
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
	All  bool   `json:"replace_all,omitempty"`
}

type multiEdit struct {
	Path  string `json:"file_path"`
	Edits []edit `json:"edits"`
}

func textOf(r tool.Result) string { return transcript.ToolResult{Content: r.Content}.Text() }

func wants(t testing.TB, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRequests(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("a.txt", "one\ntwo\n")
	if err := os.Symlink("a.txt", d.dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool string
		in   any
		op   policy.Operation
		path string
	}{
		{"Read", read{Path: "./x/../a.txt"}, policy.OpRead, "a.txt"},
		{"Read", read{Path: "link"}, policy.OpRead, "a.txt"}, // what it leads to
		{"Write", write{Path: "new/b.txt"}, policy.OpWrite, "new/b.txt"},
		{"Edit", edit{Path: "link", Old: "a", New: "b"}, policy.OpWrite, "a.txt"},
		{"MultiEdit", multiEdit{"a.txt", []edit{{Old: "a", New: "b"}}}, policy.OpWrite, "a.txt"},
	} {
		got := d.requests(tt.tool, tt.in)
		if len(got) != 1 || got[0].Operation != tt.op || got[0].Resource != filepath.Join(d.dir, tt.path) ||
			got[0].ReadOnly != (tt.op == policy.OpRead) || got[0].Tool != tt.tool {
			t.Errorf("%s %+v: %+v", tt.tool, tt.in, got)
		}
	}
	for name, in := range map[string]any{
		"Read": read{Path: "/etc/passwd"}, "Write": write{Path: "../x"}, "Edit": edit{Path: "a.txt", Old: "a", New: "a"}, "MultiEdit": multiEdit{Path: "a.txt"},
	} {
		tl, call := d.newCall(name, in)
		if _, err := tl.Requests(call); err == nil {
			t.Errorf("%s: %+v was taken", name, in)
		}
		if r := d.call(name, in); !r.IsError {
			t.Errorf("%s: %+v ran", name, in)
		}
	}
}

func TestRequestsShowWhatWouldChange(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("a.txt", "one\ntwo\nthree\n")
	in := edit{Path: "a.txt", Old: "two", New: "2"}
	if got := d.requests("Edit", in)[0].Display; got != "" {
		t.Errorf("a file that was not read is shown: %q", got)
	}
	d.read("a.txt")
	a := d.dir + "/a.txt"
	want := "--- " + a + "\n+++ " + a + "\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
	if got := d.requests("Edit", in)[0].Display; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	wants(t, d.requests("Write", write{"new.txt", "x\n"})[0].Display, "--- /dev/null\n+++ "+d.dir+"/new.txt\n@@ -0,0 +1 @@\n+x\n")
	if got := d.requests("Edit", edit{Path: "a.txt", Old: "four", New: "4"})[0].Display; got != "" {
		t.Errorf("an edit that fails shows %q", got)
	}
	long := d.requests("Write", write{"a.txt", strings.Repeat("line\n", 30000)})[0].Display
	if len(long) > 65<<10 || !strings.HasSuffix(long, "… the rest of the diff is not shown\n") {
		t.Errorf("%d bytes", len(long))
	}
	if d.get("a.txt") != "one\ntwo\nthree\n" {
		t.Error("asking changed the file")
	}
	if _, err := os.Stat(d.dir + "/new.txt"); err == nil {
		t.Error("asking made a file")
	}
}

// What was judged is what runs: a link that is turned in between is noticed.
func TestLinkSwappedAfterCheck(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("plain", "plain")
	d.put("secret", "secret")
	turn := func(target string) {
		_ = os.Remove(d.dir + "/link")
		if err := os.Symlink(target, d.dir+"/link"); err != nil {
			t.Fatal(err)
		}
	}
	turn("plain")
	d.requests("Read", read{Path: "link"})
	turn("secret")
	wants(t, d.read("link"), "leads to another place than when the call was checked")
	d.requests("Read", read{Path: "link"})
	wants(t, d.read("link"), "1\tsecret")
}

func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	folders, err := workdir.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer folders.Close()
	f, err := files.New(folders, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := tool.NewRegistry(f.Tools()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range []struct{ name, in string }{
		{"Write", `{"file_path":"a.txt","content":"hello\nworld\n"}`},
		{"Edit", `{"file_path":"a.txt","old_string":"world","new_string":"moon"}`},
		{"Read", `{"file_path":"a.txt"}`},
	} {
		t, _ := r.Lookup(step.name)
		got, _ := t.Run(context.Background(), &tool.Call{ID: "1", Tool: step.name, Input: json.RawMessage(step.in)})
		fmt.Println(strings.ReplaceAll(textOf(got), folders.Cwd(), "…"))
	}
	// Output:
	// Successfully wrote …/a.txt (new, 2 lines, 12 bytes)
	// Successfully edited …/a.txt (1 replacement)
	// 1	hello
	// 2	moon
	// 1	hello
	// 2	moon
}
