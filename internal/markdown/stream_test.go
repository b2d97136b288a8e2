package markdown

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// ours matches the sequences that this package writes. Everything else that starts with ESC came through.
var ours = regexp.MustCompile("\x1b\\[[0-9;]*m|\x1b\\]8;(id=[0-9a-f]+)?;[!-~]*(\x07|\x1b\\\\)")

func printedWidth(line string) int { return ansi.StringWidth(ours.ReplaceAllString(line, "")) }

func checkLines(t interface{ Fatalf(string, ...any) }, lines []string, width int) {
	for _, line := range lines {
		text := ours.ReplaceAllString(line, "")
		if i := strings.IndexFunc(text, func(r rune) bool {
			return r < ' ' || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r)
		}); i >= 0 {
			t.Fatalf("a control character at %d in %.200q", i, line)
		}
		if n := ansi.StringWidth(text); n > width {
			t.Fatalf("%d columns of %d: %.200q", n, width, line)
		}
	}
}

var pieces = []string{
	"a", "word ", " ", "  ", "    ", "\n", "\n\n", "\r\n", "*", "**", "_", "~~", "`", "```", "```go\n", "\n```\n", "~~~", "- ", "\n- ",
	"\n  - ", "1. ", "\n2) ", "> ", "\n>", "# ", "## x\n", "---", "\n---\n", "===\n", "|", "| a | b |\n", "|---|:-:|\n", "[", "]", "](", "(http://x.y)",
	")", "![", "<", "<b>", "<div>\n", "<!--", "&amp;", "&#27;", "\\", "\t", "\x1b[31m", "\x1b]8;;http://e\x07", "\u202e", "\x00", "\xff", "日本", "👩‍💻",
	"e\u0301", "שלום", "https://go.dev", "[x] ", "func f() {", "/*", "*/", "\"", "'", "//", "\u200d", "\x9b",
}

func someText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "text"), "")
}

func TestAnySplit(t *testing.T) {
	page, err := os.ReadFile("testdata/page.md")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := someText(t)
		if rapid.IntRange(0, 9).Draw(t, "page") == 0 {
			text = string(page)
		}
		checkSplit(t, text)
	})
}

// checkSplit compares the lines of a text that is written in parts with those of the same text written at once.
func checkSplit(t *rapid.T, text string) {
	o := &Options{Style: Style(rapid.IntRange(0, 3).Draw(t, "style")), Hyperlinks: rapid.Bool().Draw(t, "links")}
	width := rapid.IntRange(8, 100).Draw(t, "width")
	want := all(o, text, width)
	checkLines(t, want, width)
	s := New(o)
	var got []string
	for rest := text; rest != ""; {
		n := rapid.IntRange(1, min(len(rest), 200)).Draw(t, "n")
		s.Write(rest[:n])
		rest = rest[n:]
		got = append(got, s.Done(width)...)
		checkLines(t, s.Live(width), width)
	}
	got = append(got, s.Close(width)...)
	if !slices.Equal(want, got) {
		t.Fatalf("the split changes the lines of %q:\n%s", text, cmp.Diff(want, got))
	}
}

// TestLiveIsFinal shows that what Live shows for a complete block is what Done returns later.
func TestLiveIsFinal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"a **b** `c` [d](http://e) f", "- one\n- two *three* four", "# a *b* c",
			"| a | b |\n|---|---|\n| 1 | `2` |", "```go\nfunc f() {}\nx", "> quote **a** b"}).Draw(t, "text")
		o := &Options{Style: ANSI16, Hyperlinks: true}
		s := New(o)
		s.Write(text)
		got := append(s.Done(60), s.Live(60)...)
		if want := all(o, text, 60); !slices.Equal(got, want) {
			t.Fatalf("%s", cmp.Diff(want, got))
		}
	})
}

func TestDone(t *testing.T) {
	tests := []struct{ name, text, done, live string }{
		{"paragraph", "one\ntwo", "", "one two"},
		{"blank line ends a paragraph", "one\n\n", "one", ""},
		{"heading", "# one\n", "# one", ""},
		{"heading ends a paragraph", "one\n# two\n", "one||# two", ""},
		{"an item ends at the next", "- one\n- two\n- t", "- one", "- two|- t"},
		{"code lines are final", "```go\na\nb\nc", "```go|a|b", "c|```"},
		{"end of code", "```\na\n```\n", "```|a|```", ""},
		{"a fence waits", "```go\na\n``", "```go|a", "```"},
		{"table", "| a |\n|---|\n| b |\n", "", "a|---|b"},
		{"table ends", "| a |\n|---|\n| b |\n\n", "a|---|b", ""},
		{"head of a table", "| abc | d", "", "abc | d|----|----"},
		{"sign waits", "one\n\n-", "one", ""},
		{"rule or heading waits", "one\n--", "", "one"},
		{"numbers count", "1. a\n1. b\n1. c\n\n", "1. a|2. b|3. c", ""},
		{"two spaces below a number", "1. a\n  - b\n2. c\n\n", "1. a|   - b|2. c", ""},
		{"a number counts after code", "1. a\n   ```\n   b\n   ```\n2. c\n\n", "1. a|   ```|   b|   ```|2. c", ""},
		{"lazy line", "> a\nb\n\n", "> a b", ""},
		{"a quote ends at an empty line", "> a\n\nb\n\n", "> a||b", ""},
		{"empty item", "- a\n-\n- b\n\n", "- a|-|- b", ""},
		{"setext", "a\n===\n", "# a", ""},
		{"table below text", "x\na|b\n-|-\n1|2\n\n", "x||a   | b|----|----|1   | 2", ""},
		{"HTML", "<div>\n*a*\n\n*b*\n\n", "<div>|*a*||b", ""},
		{"open code at the end", "```\na", "```", "a|```"},
		{"too deep", strings.Repeat("> ", 12) + "a\n\n", "> > > > > > > > > > > > a", ""},
	}
	for _, tt := range tests {
		s := New(nil)
		s.Write(tt.text)
		if got := strings.Join(s.Done(80), "|"); got != tt.done {
			t.Errorf("%s: Done %q, want %q", tt.name, got, tt.done)
		}
		got := strings.Join(s.Live(80), "|")
		if got != tt.live {
			t.Errorf("%s: Live %q, want %q", tt.name, got, tt.live)
		}
	}
}

func TestUnfinished(t *testing.T) {
	tests := []struct{ in, want string }{
		{"a **b", "a **b**"},
		{"a **b*", "a **b**"},
		{"a *b **c", "a *b **c***"},
		{"a ***b", "a ***b***"},
		{"a `b", "a `b`"},
		{"a ``b`c", "a ``b`c``"},
		{"a [b", "a [b](<>)"},
		{"a [b]", "a [b](<>)"},
		{"a [b](http://x", "a [b](<>)"},
		{"a [b](http://x)", "a [b](http://x)"},
		{"x[0", "x[0"},
		{"x[0]", "x[0]"},
		{"a **", "a"},
		{"2 * 3", "2 * 3"},
		{"snake_case", "snake_case"},
		{"~~a", "~~a~~"},
		{"**[b", "**[b](<>)**"},
		{"*a* b", "*a* b"},
		{`\*a`, `\*a`},
	}
	o := &Options{Style: ANSI16, Hyperlinks: true}
	for _, tt := range tests {
		got, want := o.inline(tt.in, attr{}, true), o.inline(tt.want, attr{}, false)
		if o.draw(got) != o.draw(want) {
			t.Errorf("%q: %q, want %q", tt.in, o.draw(got), o.draw(want))
		}
	}
}

func TestHostile(t *testing.T) {
	texts := map[string]string{
		"escapes":    "\x1b[2J\x1b]0;title\x07 `\x1b[31m` [\x1b[1m](http://a\x1b]8;;x\x07) &#27;[2J &#x9b;2J \x9b2J\n\n```\x1b[2J\n\x1b[2J\r\n```\n",
		"link":       "[a](<http://x\x07\x1b]0;t\x07>) [b](http://x/&#7;&#27;\\) <http://a\x1b>",
		"bidi":       "a \u202e b \u2066 c\n\n| \u202e |\n|---|\n",
		"long line":  strings.Repeat("x", 1<<20),
		"long words": strings.Repeat("word **bold** ", 1<<16),
		"quotes":     strings.Repeat(">", 10000) + " a",
		"lists":      strings.Repeat("- ", 10000) + "a",
		"nested list": func() string {
			var b strings.Builder
			for i := range 1000 {
				b.WriteString(strings.Repeat("  ", i) + "- a\n")
			}
			return b.String()
		}(),
		"items":     strings.Repeat("- a\n", 10000),
		"brackets":  strings.Repeat("[", 1<<16) + strings.Repeat("](", 1<<15),
		"emphasis":  strings.Repeat("*a _b ", 1<<15),
		"ticks":     strings.Repeat("`` ` ", 1<<15),
		"pipes":     strings.Repeat("|", 2000) + "\n" + strings.Repeat("|-", 2000) + "\n" + strings.Repeat("|a", 2000),
		"code":      "```go\n" + strings.Repeat("\"", 1<<20),
		"combining": "a" + strings.Repeat("\u0301", 1<<16),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			o := &Options{Style: TrueColor, Hyperlinks: true}
			checkLines(t, all(o, text, 40), 40)
			s := New(o)
			for rest := text; rest != ""; {
				n := min(len(rest), 5000)
				s.Write(rest[:n])
				rest = rest[n:]
				checkLines(t, s.Done(40), 40)
				checkLines(t, s.Live(40), 40)
			}
			checkLines(t, s.Close(40), 40)
		})
	}
}
