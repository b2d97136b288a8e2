package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/calc.diff")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		p    paint.Palette
	}{
		{"plain", paint.Palette{}},
		{"16", paint.Palette{Style: markdown.ANSI16}},
		{"256", paint.Palette{Style: markdown.ANSI256}},
		{"true", paint.Palette{Style: markdown.TrueColor}},
		{"truelight", paint.Palette{Style: markdown.TrueColor, Light: true}},
	} {
		for _, w := range []int{60, 80, 120} {
			lines := Lines(&Options{Palette: tt.p}, string(text), w, w >= 120)
			got := strings.Join(lines, "\n") + "\n"
			file := filepath.Join("testdata", fmt.Sprintf("calc.%s.%d.txt", tt.name, w))
			docgen.Golden(t, file, got)
		}
	}
}

func TestLines(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		o    Options
		want string
	}{
		"nothing":              {"", Options{}, ""},
		"without hunks":        {" a\n-b\n+c\n", Options{}, "  a|- b|+ c"},
		"a new file":           {"--- /dev/null\n+++ /w/new\n@@ -0,0 +1,2 @@\n+x\n+y\n", Options{}, " 1 + x| 2 + y"},
		"two hunks":            {"@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n", Options{}, " 1 - a| 1 + b| ⋮| 9 - c| 9 + d"},
		"a later hunk":         {"--- a\n+++ b\n@@ -100,2 +100,1 @@\n a\n-b\n", Options{}, "100   a|101 - b"},
		"no newline at end":    {"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", Options{}, " 1 - a|\\ No newline at end of file| 1 + b"},
		"lines like a header":  {"@@ -1,2 +1,2 @@\n--- x\n+++ y\n-@@ -1 +1 @@\n+@@ z\n", Options{}, " 1 - -- x| 1 + ++ y| 2 - @@ -1 +1 @@| 2 + @@ z"},
		"an empty line":        {"@@ -1,2 +1,1 @@\n\n-b\n", Options{}, " 1| 2 - b"},
		"crlf everywhere":      {"@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n", Options{}, " 1   a| 2 - b| 2 + c"},
		"crlf is the change":   {"@@ -1 +1 @@\n-a\r\n+a\n", Options{}, " 1 - a\\x0d| 1 + a"},
		"hostile":              {"@@ -1 +1 @@\n-a\x1b[2J\u202e\n+\u200bb\xff\n", Options{}, " 1 - a\\x1b[2J\\u202e| 1 + \\u200bb\\xff"},
		"tabs":                 {"+\ta\tb\n", Options{}, "+     a   b"},
		"a long line":          {"+" + strings.Repeat("x", 45) + "\n", Options{}, "+ " + strings.Repeat("x", 28) + "|  " + strings.Repeat("x", 17)},
		"a limit":              {"+a\n+b\n+c\n", Options{Limit: 2}, "+ a|+ b"},
		"a remark":             {"@@ -1 +1 @@\n-a\n+b\n… the rest\n", Options{}, " 1 - a| 1 + b|… the rest"},
		"a bad header":         {"@@ -x +1 @@\n", Options{}, "@@ -x +1 @@"},
		"numbers too large":    {"@@ -99999999999999999999 +1 @@\n+a\n", Options{}, "@@ -99999999999999999999 +1 @@|+ a"},
		"more than the header": {"@@ -1 +1 @@\n-a\n+b\n+c\n", Options{}, " 1 - a| 1 + b|+c"},
	} {
		if got := strings.Join(Lines(&tt.o, tt.text, 30, false), "|"); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, tt.want)
		}
	}
}

func TestSides(t *testing.T) {
	got := strings.Join(Lines(&Options{}, "@@ -1,3 +1,4 @@\n a\n-b\n-c\n+d\n+e\n+f\n", 32, true), "\n")
	want := ` 1   a         │  1   a
 2 - b         │  2 + d
 3 - c         │  3 + e
               │  4 + f`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestChanges(t *testing.T) {
	for _, tt := range []struct{ old, fresh, inOld, inFresh string }{
		{"return a - b", "return a + b", "-", "+"},
		{"x := foo(1, 2)", "x := foo(1, 23)", "2", "23"},
		{"x", "y", "", ""},
		{"same", "same", "", ""},
		{"a b c d", "a b c d e", "", " |e"},
		{"the 🇩🇪 flag is here", "the 🇩🇰 flag is here", "🇩🇪", "🇩🇰"},
		{"entirely different words", "nothing in common here at all", "", ""},
		{strings.Repeat("long ", 500) + "a", strings.Repeat("long ", 500) + "b", "", ""},
	} {
		inOld, inFresh := changes(tt.old, tt.fresh)
		if got := parts(tt.old, inOld); got != strings.ReplaceAll(tt.inOld, "|", "") {
			t.Errorf("%q: marked %q", tt.old, got)
		}
		if got := parts(tt.fresh, inFresh); got != strings.ReplaceAll(tt.inFresh, "|", "") {
			t.Errorf("%q: marked %q", tt.fresh, got)
		}
	}
}

func parts(s string, marks [][2]int) (out string) {
	for _, m := range marks {
		out += s[m[0]:m[1]]
	}
	return out
}

func TestCount(t *testing.T) {
	if a, r := Count("--- a\n+++ b\n@@ -1,2 +1,3 @@\n x\n-y\n+z\n+w\n"); a != 2 || r != 1 {
		t.Errorf("%d added, %d removed", a, r)
	}
}

// No line is wider than it may be, and none has a control character that this package has not written.
func TestAnyDiff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.StringMatching(`[ +-].*`), rapid.SampledFrom([]string{
			"@@ -1,2 +3,4 @@", "--- a", "+++ b", "-\tif x {\x1b[31m", "+👩‍👩‍👧 漢字 e\u0301\u202e", "+\u200d\ufe0f", " שלום \r", "@@ -0,0 +1 @@", "-🇩🇪🇩", "\xff",
		}))
		text := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), "\n")
		width := rapid.IntRange(20, 130).Draw(t, "width")
		p := paint.Palette{Style: markdown.Style(rapid.IntRange(0, 3).Draw(t, "style")), Light: rapid.Bool().Draw(t, "light")}
		for _, l := range Lines(&Options{Palette: p}, text, width, rapid.Bool().Draw(t, "sides")) {
			if n := paint.Width(l); n > width {
				t.Fatalf("%d columns, %d are allowed: %q", n, width, l)
			}
			for _, part := range strings.Split(l, "\x1b[")[1:] {
				codes, _, ok := strings.Cut(part, "m")
				if !ok || strings.Trim(codes, "0123456789;") != "" || p.Style == markdown.Plain {
					t.Fatalf("an escape sequence: %q", l)
				}
			}
			if strings.ContainsFunc(strings.ReplaceAll(l, "\x1b[", ""), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e }) {
				t.Fatalf("a control character: %q", l)
			}
		}
	})
}
