package search_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/tool/search"
)

// What is ignored, with the files that git would not show: the same table is
// given to git itself where it is installed.
var ignoreTable = []struct {
	files   map[string]string
	ignored []string
	kept    []string
}{
	{map[string]string{".": "*.log\n!keep.log\n"}, []string{"a.log", "d/b.log"}, []string{"keep.log", "d/keep.log", "a.logs"}},
	{map[string]string{".": "build/\n"}, []string{"build/x", "d/build/x"}, []string{"builds", "d/build2/x"}},
	{map[string]string{".": "build/\n"}, nil, []string{"build"}}, // a file of that name
	{map[string]string{".": "/top\nd/e\n"}, []string{"top", "d/e/f"}, []string{"d/top", "x/d/e"}},
	{map[string]string{".": "a/**/z\n**/q/r\ns/**\n"}, []string{"a/z", "a/b/c/z", "x/q/r", "q/r", "s/t"}, []string{"az", "x/a/z2"}},
	{map[string]string{".": "# note\n\n\\#file\n\\!bang\n"}, []string{"#file", "!bang"}, []string{"note", "# note"}},
	{map[string]string{".": "trail   \nkept\\ \n"}, []string{"trail", "kept "}, []string{"kept"}},
	{map[string]string{".": "d/\n!d/x\n"}, []string{"d/x"}, []string{"x"}}, // a parent that is ignored wins
	{map[string]string{".": "d/*\n!d/x\n"}, []string{"d/y"}, []string{"d/x"}},
	{map[string]string{".": "*.o\n", "d": "!*.o\n"}, []string{"a.o", "e/a.o"}, []string{"d/a.o", "d/f/a.o"}},
	{map[string]string{"d": "/only\nx/y\n"}, []string{"d/only", "d/x/y"}, []string{"only", "d/e/only", "x/y"}},
	{map[string]string{".": "[abc].t\n[!x]9\n?.q\n"}, []string{"a.t", "y9", "z.q"}, []string{"d.t", "x9", "zz.q"}},
	{map[string]string{".": "{a,b}\nf{o\n"}, []string{"{a,b}", "f{o"}, []string{"a", "b"}},
	{map[string]string{".": "[\nok\n"}, []string{"ok"}, []string{"[", "x"}},
	{map[string]string{".": "crlf\r\n\xEF\xBB\xBFno\n"}, []string{"crlf"}, []string{"no"}},
	{map[string]string{".": "foo**bar\n"}, []string{"fooXbar", "d/foobar"}, []string{"foo/bar"}},
}

func TestIgnore(t *testing.T) {
	for _, tt := range ignoreTable {
		for want, list := range map[bool][]string{true: tt.ignored, false: tt.kept} {
			for _, rel := range list {
				if got := search.Ignored(tt.files, rel, false); got != want {
					t.Errorf("%q: %s ignored = %v, want %v", tt.files, rel, got, want)
				}
			}
		}
	}
}

func TestIgnoreAsGitDoes(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		testneed.Need(t, "no git: apt-get install git makes this run")
	}
	for _, tt := range ignoreTable {
		dir := t.TempDir()
		for base, content := range tt.files {
			write(t, filepath.Join(dir, base, ".gitignore"), content)
		}
		if out, err := exec.Command(git, "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for want, list := range map[bool][]string{true: tt.ignored, false: tt.kept} {
			for _, rel := range list {
				write(t, filepath.Join(dir, rel), "")
				cmd := exec.Command(git, "-c", "core.excludesFile=", "status", "--porcelain", "-z", "-uall", "--", ":(literal)"+rel)
				cmd.Dir = dir
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				if got := !strings.Contains(string(out), "?? "+rel+"\x00"); got != want {
					t.Errorf("git says of %q: %s ignored = %v, want %v", tt.files, rel, got, want)
				}
				if err := os.Remove(filepath.Join(dir, rel)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The matcher never panics, and a file that is ignored by name in a folder is
// ignored below it too unless a path was meant.
func FuzzIgnore(f *testing.F) {
	for _, tt := range ignoreTable {
		for _, content := range tt.files {
			f.Add(content, "d/a.log")
		}
	}
	f.Fuzz(func(t *testing.T, content, rel string) {
		rel = filepath.ToSlash(filepath.Clean("/" + rel))[1:]
		if rel == "" || strings.ContainsAny(content, "/!\\") {
			return
		}
		if search.Ignored(map[string]string{".": content}, rel, false) && !search.Ignored(map[string]string{".": content}, "deep/er/"+rel, false) {
			t.Errorf("%q: %q", content, rel)
		}
	})
}
