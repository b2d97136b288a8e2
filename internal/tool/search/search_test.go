//go:build unix

package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tool/search"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

type tree struct {
	testing.TB
	dir        string
	folders    *workdir.Folders
	glob, grep tool.Tool
}

// newTree makes a folder of files, the first one the oldest; a name that ends in /
// is a folder.
func newTree(t testing.TB, opts *search.Options, files ...string) *tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	when := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, when, when.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return openTree(t, opts, dir)
}

func openTree(t testing.TB, opts *search.Options, dir string) *tree {
	t.Helper()
	folders, err := workdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folders.Close() })
	s, err := search.New(folders, opts)
	if err != nil {
		t.Fatal(err)
	}
	if opts == nil || opts.Ripgrep != "none" {
		search.NarrowAlways(s)
	}
	return &tree{TB: t, dir: dir, folders: folders, glob: s.Tools()[0], grep: s.Tools()[1]}
}

func (t *tree) call(of tool.Tool, input string) (string, bool) {
	t.Helper()
	r, err := of.Run(t.Context(), &tool.Call{ID: "1", Input: json.RawMessage(input)})
	if err != nil {
		t.Fatal(err)
	}
	return transcript.ToolResult{Content: r.Content}.Text(), r.IsError
}

func TestGlob(t *testing.T) {
	w := newTree(t, nil,
		"a.go", "", "x/b.go", "", "x/y/c.go", "", "x/c.txt", "", ".hidden/d.go", "", "node_modules/e.go", "",
		".env", "", "build/f.go", "", "x/keep.log", "", "x/drop.log", "", ".github/w.yml", "",
		".gitignore", "build/\n*.log\n!keep.log\n",
	)
	if err := os.Symlink("x", filepath.Join(w.dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want string }{
		{`{"pattern":"**/*.go"}`, "x/y/c.go x/b.go a.go"}, // newest first
		{`{"pattern":"*.go"}`, "a.go"},
		{`{"pattern":"*.go","path":"x"}`, "x/b.go"},
		{`{"pattern":"**/{b,c}.go"}`, "x/y/c.go x/b.go"},
		{`{"pattern":"x/*/c.go"}`, "x/y/c.go"},
		{`{"pattern":"**/*.log"}`, "x/keep.log"},
		{`{"pattern":"*"}`, ".gitignore .env a.go"},
		{`{"pattern":"a.go"}`, "a.go"},
		{`{"pattern":".github/*"}`, ".github/w.yml"},
		{`{"pattern":"build/*"}`, "build/f.go"}, // named, so wanted
		{`{"pattern":"../**/*.go","path":"x"}`, "x/y/c.go x/b.go a.go"},
		{`{"pattern":"` + w.dir + `/x/*.go"}`, "x/b.go"},
		{`{"pattern":"*.zzz"}`, `No files matched the pattern "*.zzz" in .`},
		{`{"pattern":"nowhere/*.go"}`, `No files matched the pattern "nowhere/*.go" in nowhere`},
	} {
		got, isError := w.call(w.glob, tt.in)
		if isError || strings.ReplaceAll(got, "\n", " ") != tt.want {
			t.Errorf("%s: got %q, want %q", tt.in, got, tt.want)
		}
	}
	for in, want := range map[string]string{
		`{"pattern":"*","path":"nope"}`:                     "Directory not found: ",
		`{"pattern":"*","path":"a.go"}`:                     "Directory not found: ",
		`{"pattern":"[","path":"."}`:                        "not a usable pattern",
		`{"pattern":""}`:                                    "invalid pattern",
		`{"pattern":"` + strings.Repeat("{a,*}", 30) + `"}`: "more than 256 alternatives",
		`{"pattern":"/etc/*"}`:                              "outside the session's folders",
		`{"pattern":"../../../etc/**/*"}`:                   "outside the session's folders",
		`{"pattern":"*","path":"/etc"}`:                     "outside the session's folders",
	} {
		if got, isError := w.call(w.glob, in); !isError || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestGlobIsCapped(t *testing.T) {
	var files []string
	for i := range 510 {
		files = append(files, fmt.Sprintf("f%03d", i), "")
	}
	w := newTree(t, nil, files...)
	got, _ := w.call(w.glob, `{"pattern":"*"}`)
	lines := strings.Split(got, "\n")
	if len(lines) != 501 || lines[0] != "f509" || lines[500] != "[the newest 500 of 510 files; use a narrower pattern]" {
		t.Errorf("%d lines, first %q, last %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

func TestRequests(t *testing.T) {
	w := newTree(t, nil, "x/a.go", "")
	for _, tt := range []struct {
		of           tool.Tool
		in, resource string
	}{
		{w.glob, `{"pattern":"**/*"}`, w.dir},
		{w.glob, `{"pattern":"x/*.go"}`, w.dir + "/x"},
		{w.grep, `{"pattern":"a"}`, w.dir},
		{w.grep, `{"pattern":"a","path":"x/a.go"}`, w.dir + "/x/a.go"},
	} {
		got, err := tt.of.Requests(&tool.Call{Input: json.RawMessage(tt.in)})
		if err != nil || len(got) != 1 || got[0].Operation != policy.OpRead || !got[0].ReadOnly || got[0].Resource != tt.resource {
			t.Errorf("%s: %+v, %v", tt.in, got, err)
		}
	}
	for _, in := range []string{`{"pattern":"a","path":"/etc"}`, `{"pattern":"("}`, `{"pattern":""}`} {
		if _, err := w.grep.Requests(&tool.Call{Input: json.RawMessage(in)}); err == nil {
			t.Errorf("%s: was taken", in)
		}
	}
}

// What may not be searched is not: links, FIFOs, hidden and foreign files.
func TestGrepStaysInside(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(outside+"/s.txt", []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newTree(t, &search.Options{Hide: func(abs string) bool { return filepath.Base(abs) == "kept.txt" }},
		"a.txt", "secret\n", "in/kept.txt", "secret\n")
	for name, target := range map[string]string{"l.txt": outside + "/s.txt", "dir": outside, "up": "..", "in/loop": "..", "in.txt": "a.txt"} {
		if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(w.dir, "pipe.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, _ := w.call(w.grep, `{"pattern":"secret"}`); got != "a.txt" {
		t.Errorf("got %q", got)
	}
	for _, path := range []string{"l.txt", "dir", "dir/s.txt", "up", "pipe.txt", "nope", "in/loop/../../..", "/etc/passwd"} {
		in, _ := json.Marshal(map[string]string{"pattern": "secret", "path": path})
		if got, isError := w.call(w.grep, string(in)); !isError {
			t.Errorf("%s: got %q", path, got)
		}
	}
}

func TestCancel(t *testing.T) {
	w := newTree(t, nil, "a", "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, of := range []tool.Tool{w.glob, w.grep} {
		if _, err := of.Run(ctx, &tool.Call{Input: json.RawMessage(`{"pattern":"a"}`)}); err == nil {
			t.Error("a cancelled search went on")
		}
	}
}

func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	_ = os.WriteFile(dir+"/main.go", []byte("package main\n\nfunc main() {}\n"), 0o644)
	folders, err := workdir.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer folders.Close()
	s, err := search.New(folders, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	glob, grep := s.Tools()[0], s.Tools()[1]
	r, _ := glob.Run(context.Background(), &tool.Call{Input: json.RawMessage(`{"pattern":"**/*.go"}`)})
	fmt.Println(transcript.ToolResult{Content: r.Content}.Text())
	r, _ = grep.Run(context.Background(), &tool.Call{Input: json.RawMessage(`{"pattern":"^func","output_mode":"content"}`)})
	fmt.Println(transcript.ToolResult{Content: r.Content}.Text())
	// Output:
	// main.go
	// main.go:3:func main() {}
}
