package realpath

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// makeTree creates a small tree with links and returns its resolved root.
func makeTree(t testing.TB) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b/c", "d", "home/u"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "a/f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"l1":      "a/b",
		"l2":      "l1",
		"abs":     root + "/d",
		"a/up":    "../d",
		"dangle":  "missing/x",
		"loop":    "loop2",
		"loop2":   "loop",
		"d/slash": "../a//b/",
		"a/b/top": "../..",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestNormalizeRefuses(t *testing.T) {
	root := makeTree(t)
	for _, tt := range []struct {
		path, cwd, home string
		want            error
	}{
		{"/a\x00b", "/", "/h", errNUL},
		{"x", "", "/h", errRelative},
		{"x", "relative", "/h", errRelative},
		{"~/x", "/", "", errHome},
		{"~/x", "/", "h", errHome},
		{"~root/x", "/", "/h", errUser},
		{root + "/loop", "/", "/h", errLoop},
		{root + "/loop/x/..", "/", "/h", errLoop},
	} {
		got, err := Normalize(tt.path, tt.cwd, tt.home)
		if !errors.Is(err, tt.want) || got != "" {
			t.Errorf("%q: got %q, %v", tt.path, got, err)
		}
	}
}

func TestNormalizeRefusesProcessLinks(t *testing.T) {
	if _, err := os.Lstat("/proc/self/cwd"); err != nil {
		t.Skip("no /proc here: ", err)
	}
	for _, p := range []string{"/proc/self/cwd/x", "/proc/self/exe", "/proc/self/fd/0", "/dev/stdin", "/proc/thread-self/cwd", "/proc/self/root/etc/x", "/proc/1/root/etc/x"} {
		if got, err := Normalize(p, "/", "/"); !errors.Is(err, errProcess) {
			t.Errorf("%s: got %q, %v", p, got, err)
		}
	}
	if got, err := Normalize("/proc/self/status", "/", "/"); err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestNormalize(t *testing.T) {
	root := makeTree(t)
	for _, tt := range []struct{ path, want string }{
		{"", ""},
		{"/", "/"},
		{"//", "/"},
		{"/..", "/"},
		{"/../../x-nowhere", "/x-nowhere"},
		{"~", root + "/home/u"},
		{"~/x/../y", root + "/home/u/y"},
		{".", root + "/a"},
		{"b/", root + "/a/b"},
		{"./b//c/.", root + "/a/b/c"},
		{"f", root + "/a/f"},
		{"f/../b", root + "/a/b"}, // a file is not a folder: as if it did not exist
		{"..", root},
		{"../l1/c", root + "/a/b/c"},
		{"../l2/c", root + "/a/b/c"},
		{"../l1/..", root + "/a"}, // after the link, not beside it
		{"../abs/x", root + "/d/x"},
		{"up/x", root + "/d/x"},
		{"up/../f", root + "/f"},
		{"../d/slash/c", root + "/a/b/c"},
		{"b/top/a/b/top/d", root + "/d"},
		{"no/such/../thing", root + "/a/no/thing"},
		{"no/../b/../no", root + "/a/no"},
		{"no/../../l1", root + "/a/b"},
		{"no/../../../l1x", path.Dir(root) + "/l1x"},
		{"../dangle", root + "/missing/x"},
		{"../dangle/..", root + "/missing"},
		{"../dangle/../../d", root + "/d"},
		{"Case", root + "/a/Case"},
		{"with space", root + "/a/with space"},
		{"x~", root + "/a/x~"},
		{"$HOME/x", root + "/a/$HOME/x"}, // left to a shell
	} {
		got, err := Normalize(tt.path, root+"/a", root+"/home/u")
		if err != nil || got != tt.want {
			t.Errorf("%q: got %q, %v, want %q", tt.path, got, err, tt.want)
		}
	}
}

// A chain of as many links as a kernel follows is followed; a longer one is not.
func TestNormalizeCountsLinks(t *testing.T) {
	root := makeTree(t)
	name := "d"
	for i := range MaxLinks + 1 {
		next := "n" + strings.Repeat("x", i)
		if err := os.Symlink(name, filepath.Join(root, next)); err != nil {
			t.Fatal(err)
		}
		name = next
	}
	if got, err := Normalize(name[:len(name)-1], root, ""); got != root+"/d" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := Normalize(name, root, ""); !errors.Is(err, errLoop) {
		t.Errorf("got %v", err)
	}
}

// Normalize is idempotent, returns clean absolute paths without links, and agrees with the file system about
// everything that exists.
func TestNormalizeProperties(t *testing.T) {
	root := makeTree(t)
	parts := []string{"a", "b", "c", "d", "f", "l1", "l2", "abs", "up", "slash", "top", "dangle", "loop", "home", "no", ".", "..", "..", "", "x y"}
	rapid.Check(t, func(t *rapid.T) {
		p := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 12).Draw(t, "parts"), "/")
		if rapid.Bool().Draw(t, "absolute") {
			p = root + "/" + p
		}
		cwd := root + rapid.SampledFrom([]string{"", "/a", "/a/b/", "/l1", "/no/where"}).Draw(t, "cwd")
		got, err := Normalize(p, cwd, root)
		if err != nil {
			if !errors.Is(err, errLoop) {
				t.Fatalf("%q: %v", p, err)
			}
			return
		}
		if p == "" {
			if got != "" {
				t.Fatalf("the empty path became %q", got)
			}
			return
		}
		if got != path.Clean(got) || !path.IsAbs(got) {
			t.Fatalf("%q became %q", p, got)
		}
		if again, err := Normalize(got, "/elsewhere", ""); err != nil || again != got {
			t.Fatalf("%q, then %q (%v)", got, again, err)
		}
		full := p
		if !path.IsAbs(p) {
			full = cwd + "/" + p
		}
		for _, name := range []string{full, path.Clean(full)} {
			quick, err := Resolve(name)
			if slow, slowErr := walk(name); quick != slow || (err == nil) != (slowErr == nil) {
				t.Fatalf("%q: %q, %v, and part by part %q, %v", name, quick, err, slow, slowErr)
			}
		}
		want, statErr := os.Stat(full)
		if statErr != nil {
			return
		}
		if have, err := os.Lstat(got); err != nil || !os.SameFile(have, want) {
			t.Fatalf("%q is not %q (%v)", got, full, err)
		}
	})
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"", "/", "~", "~/a", "~u", "..", "a/../..", "//x//", "a\x00", "/proc/self/cwd/x", "/dev/fd/1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		got, err := Normalize(p, "/nowhere/cwd", "/nowhere/home")
		switch {
		case err != nil && got != "":
			t.Fatalf("%q: both %q and %v", p, got, err)
		case err != nil || p == "":
			return
		case !path.IsAbs(got) || path.Clean(got) != got:
			t.Fatalf("%q became %q", p, got)
		}
		if again, err := Normalize(got, "", ""); err != nil || again != got {
			t.Fatalf("%q, then %q (%v)", got, again, err)
		}
	})
}
