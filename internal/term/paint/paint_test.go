package paint

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/markdown"
)

func TestPaint(t *testing.T) {
	for _, tt := range []struct {
		p    Palette
		role Role
		want string
	}{
		{Palette{}, Bad, "x"},
		{Palette{Style: markdown.ANSI16}, None, "x"},
		{Palette{Style: markdown.ANSI16}, Bad, "\x1b[31mx\x1b[m"},
		{Palette{Style: markdown.TrueColor, Light: true}, Bad, "\x1b[31mx\x1b[m"},
		{Palette{Style: markdown.ANSI16}, Added, "\x1b[32mx\x1b[m"},
		{Palette{Style: markdown.ANSI256}, Added, "\x1b[48;5;22mx\x1b[m"},
		{Palette{Style: markdown.ANSI256, Light: true}, Added, "\x1b[48;5;194mx\x1b[m"},
	} {
		if got := tt.p.Paint(tt.role, "x"); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt, got, tt.want)
		}
	}
}

func TestSpans(t *testing.T) {
	got := Palette{Style: markdown.ANSI16}.Spans([]Span{{"a", Bad}, {"b", Bad}, {"c", None}, {"", Dim}})
	if want := "\x1b[31mab\x1b[mc"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[32mok\x1b[0m\ttest":        "ok\ttest",
		"10%\r50%\r100%\r\ndone\r\n":     "100%\ndone\n",
		"\x1b]0;title\x07a\x1b[2J\x9b2J": "a",
		"a\u202eb\x00":                   `a\u202eb\x00`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		width int
		want  string
	}{
		"short":           {"a b", 10, "a b"},
		"words":           {"one two three four", 9, "one two|three|four"},
		"a long word":     {"one abcdefghijkl two", 5, "one|abcde|fghij|kl|two"},
		"indentation":     {"  one two three", 9, "  one two|  three"},
		"much of it":      {"        one two", 8, "    one|    two"},
		"empty lines":     {"a\n\nb\n", 9, "a||b|"},
		"wide characters": {"漢字漢字", 5, "漢字|漢字"},
		"tabs":            {"\ta", 9, "    a"},
		"escaped":         {"\x1b[2J", 20, `\x1b[2J`},
	} {
		if got := strings.Join(Wrap(tt.text, tt.width), "|"); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\t", " ", "\n", "👩‍👩‍👧", "🇩🇪", "e\u0301", "\ufe0f", "漢"}))).Draw(t, "text"), "")
		width := rapid.IntRange(2, 40).Draw(t, "width")
		for _, l := range append(Wrap(s, width), FoldText(Text(s), width)...) {
			if n := Width(l); n > width {
				t.Fatalf("%d columns: %q", n, l)
			}
		}
	})
}
