package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// project writes files and returns their folder.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// done waits until a walk has ended.
func done(x *Index) (items []pick.Item) {
	for {
		if items, done := x.Items(); done {
			return items
		}
		<-x.Changed()
	}
}

func texts(items []pick.Item) (out []string) {
	for _, it := range items {
		out = append(out, it.Text)
	}
	return out
}

func TestIndex(t *testing.T) {
	dir := project(t, map[string]string{
		".gitignore": "*.log\nbuild/\n", "main.go": "package main", "cmd/tool/tool.go": "", "cmd/tool/x y.txt": "", "debug.log": "", "build/out.go": "",
		".env": "", ".git/config": "", ".github/ci.yml": "", "node_modules/a/b.js": "", "deploy/server.pem": "", "deploy/server.pem.example": "",
		"secrets/key.txt": "", "docs/secrets.yaml": "", "docs/évil\x1b[31m.md": "", "docs/日本.md": "",
	})
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "outside")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("main.go", filepath.Join(dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	x := Start(&Options{Dir: dir})
	defer x.Close()
	want := []string{"cmd/", "deploy/", "docs/", "link.go", "main.go", "cmd/tool/", "deploy/server.pem.example", "docs/日本.md", "cmd/tool/tool.go", "cmd/tool/x y.txt"}
	if got := texts(done(x)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	x.Refresh()
	if got := texts(done(x)); !slices.Contains(got, "new.go") {
		t.Errorf("after Refresh: %q", got)
	}
}

// The .gitignore of the repository applies in its folders.
func TestIndexBelowRepository(t *testing.T) {
	dir := project(t, map[string]string{".git/HEAD": "", ".gitignore": "/app/out/\n*.tmp\n", "app/a.go": "", "app/a.tmp": "", "app/out/x.go": "", "other.go": ""})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, "app"), link); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{filepath.Join(dir, "app"), link} {
		x := Start(&Options{Dir: at})
		if got := texts(done(x)); !slices.Equal(got, []string{"a.go"}) {
			t.Errorf("%s: %q", at, got)
		}
		x.Close()
	}
}

func TestIndexLimits(t *testing.T) {
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("d%d/f%d.go", i%5, i)] = ""
	}
	x := start(&Options{Dir: project(t, files)}, 20)
	defer x.Close()
	if items := done(x); len(items) != 20 {
		t.Errorf("%d items", len(items))
	}
	missing := Start(&Options{Dir: filepath.Join(t.TempDir(), "missing")})
	defer missing.Close()
	if items := done(missing); len(items) != 0 {
		t.Errorf("%d items", len(items))
	}
	closed := Start(&Options{Dir: "/"})
	closed.Close() // ends the walk at once
	closed.Refresh()
	if _, done := closed.Items(); !done {
		t.Error("a walk runs after Close")
	}
}

func TestPreview(t *testing.T) {
	dir := project(t, map[string]string{
		"a.go": "package a\n\n\tx := \"\x1b[31m\u202e\"\r\nlast", "bin": "a\x00b", "x.png": "\x89PNG", "long": strings.Repeat("y", 100_000), "empty": "", "d/one": "", "d/e\x1b/two": "", "d/.hidden": "", "d/p": "", "d/q": "",
	})
	x := Start(&Options{Dir: dir})
	defer x.Close()
	for _, tt := range []struct {
		path string
		want []string
	}{
		{"a.go", []string{"1 package a", "2 ", `3     x := "\x1b[31m\u202e"`}},
		{"bin", []string{"binary file, 3 bytes"}},
		{"x.png", []string{"PNG image, 4 bytes"}},
		{"long", []string{"1 " + strings.Repeat("y", 400)}},
		{"empty", nil},
		{"d/", []string{`e\x1b/`, "one", "p"}},
		{"missing", []string{"no such file or directory"}},
		{"../../etc/passwd", []string{"path escapes from parent"}},
	} {
		got := x.preview(tt.path)(80, 3)
		for i, l := range got {
			got[i] = ansi.Strip(l)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.path, got, tt.want)
		}
	}
}

func TestExpand(t *testing.T) {
	dir := project(t, map[string]string{"a.go": "", "my file.txt": "", "d/x.png": "", "odd:10": "", "with,comma": "", "@types/node": ""})
	home := project(t, map[string]string{"notes.md": ""})
	t.Setenv("HOME", home)
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"explain @a.go", "explain a.go"},
		{"@a.go:10-20 and @a.go:7, (@a.go)", "a.go (lines 10-20) and a.go (line 7), (a.go)"},
		{"@a.go#L10-L20 @a.go#L3.", "a.go (lines 10-20) a.go (line 3)."},
		{"@a.go:0 @a.go:5-2 @a.go:x @a.go:+1", "@a.go:0 @a.go:5-2 @a.go:x @a.go:+1"},
		{`@my\ file.txt:2!`, `"my file.txt" (line 2)!`},
		{`@"my file.txt" @"my file.txt":2-3, x`, `"my file.txt" "my file.txt" (lines 2-3), x`},
		{"@odd:10 @odd:10:3", "odd:10 odd:10 (line 3)"},
		{"@d @d/ @d:3", "d d @d:3"},
		{"look at\n@d/x.png\n", "look at\nd/x.png\n"},
		{"@with,comma, @./a.go", "with,comma, a.go"},
		{"mail me@a.go @someone @@a.go @", "mail me@a.go @someone @@a.go @"},
		{"@@types/node", "@types/node"},
		{"@~/notes.md", home + "/notes.md"},
		{"@" + dir + "/a.go", "a.go"},
		{"@missing.go:10 @a.go\x00", "@missing.go:10 @a.go\x00"},
		{strings.Repeat("@", 5000), strings.Repeat("@", 5000)},
	} {
		if got, _ := Expand(tt.text, dir, nil); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
	_, all := Expand("@a.go:3 @d/x.png @d @~/notes.md", dir, nil)
	want := []Mention{{Path: "a.go", From: 3, To: 3}, {Path: "d/x.png", Image: true}, {Path: "d", Dir: true}, {Path: home + "/notes.md", Outside: true}}
	if !slices.Equal(all, want) {
		t.Errorf("%+v, want %+v", all, want)
	}
}

// What a completion inserts is found again.
func TestQuote(t *testing.T) {
	names := []string{"a.go", "my file.txt", "d/two  spaces", "odd:10", "x.", "(y)", "quote\"d", `back\slash`}
	files := map[string]string{}
	for _, n := range names {
		files[n] = ""
	}
	dir := project(t, files)
	for _, n := range names {
		if _, all := Expand(Quote(n)+" and", dir, nil); len(all) != 1 || all[0].Path != n {
			t.Errorf("%q: %+v", Quote(n), all)
		}
		if path, lines := Query(n + ":10-20"); path != n || lines != ":10-20" {
			t.Errorf("%q: %q, %q", n, path, lines)
		}
	}
	if path, lines := Query("a.go:"); path != "a.go:" || lines != "" {
		t.Errorf("%q, %q", path, lines)
	}
}

func TestDropped(t *testing.T) {
	dir := project(t, map[string]string{"a b.png": "", "it's.png": "", "plain.png": "", `back\slash`: ""})
	other := project(t, map[string]string{"x.png": ""})
	for _, tt := range []struct{ paste, want string }{
		{dir + "/plain.png", "@plain.png"},
		{dir + "/plain.png \n", "@plain.png"},
		{"'" + dir + "/a b.png' ", `@a\ b.png`},
		{`"` + dir + `/a b.png"`, `@a\ b.png`},
		{dir + `/a\ b.png`, `@a\ b.png`},
		{dir + "/a b.png", `@a\ b.png`},
		{"'" + dir + `/it'\''s.png'`, "@it's.png"},
		{"file://" + dir + "/a%20b.png", `@a\ b.png`},
		{"file://localhost" + dir + "/plain.png", "@plain.png"},
		{"file://elsewhere" + dir + "/plain.png", ""},
		{dir + `/back\slash`, `@back\slash`},
		{other + "/x.png", "@" + other + "/x.png"},
		{"plain.png", ""}, // a word, not a dropped file
		{dir + "/missing.png", ""},
		{dir + "/plain.png\n" + dir + "/plain.png", ""},
		{"'", ""},
		{"", ""},
		{"/", ""},
	} {
		got, ok := Dropped(tt.paste, dir)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: %q, %v, want %q", tt.paste, got, ok, tt.want)
		}
		if _, all := Expand(got, dir, nil); ok && len(all) != 1 {
			t.Errorf("%q is not a mention", got)
		}
	}
}

func FuzzExpand(f *testing.F) {
	dir := project(f, map[string]string{"a.go": "", "my file": ""})
	for _, s := range []string{"@a.go:1-2, x", `@my\ file`, `@"my file":3`, "@@", "(@a.go)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, all := Expand(text, dir, nil)
		if len(all) == 0 && got != text {
			t.Fatalf("%q: %q without a mention", text, got)
		}
	})
}

func BenchmarkIndex(b *testing.B) {
	files := map[string]string{}
	for i := range 20_000 {
		files[fmt.Sprintf("d%d/e%d/file%d.go", i%40, i%700, i)] = ""
	}
	dir := project(b, files)
	for b.Loop() {
		x := Start(&Options{Dir: dir})
		if n := len(done(x)); n < 20_000 {
			b.Fatal(n)
		}
		x.Close()
	}
}
