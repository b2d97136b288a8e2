package term

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBreak(t *testing.T) {
	for _, tt := range []struct {
		line  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"12345", 5, []string{"12345"}},
		{"one two three", 8, []string{"one two ", "three"}},
		{"one  two", 5, []string{"one  ", "two"}},
		{"123456789", 4, []string{"1234", "5678", "9"}},
		{"世界世界", 5, []string{"世界", "世界"}},
		{"a👩‍👩‍👧b", 2, []string{"a", "👩‍👩‍👧", "b"}},
		{"世界", 0, []string{"世", "界"}},
	} {
		if got := Break(tt.line, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("Break(%q, %d) = %q, want %q", tt.line, tt.width, got, tt.want)
		}
	}
}

func TestWrapColors(t *testing.T) {
	for _, tt := range []struct {
		line  string
		width int
		want  []string
	}{
		{"short", 10, []string{"short"}},
		{"a\tb", 10, []string{"a    b"}},
		{"\x1b[2mone two\x1b[0m three", 5, []string{"\x1b[2mone\x1b[0m", "\x1b[2mtwo\x1b[0m", "three"}},
		{"one \x1b[1mtwo three\x1b[0m", 7, []string{"one \x1b[1mtwo\x1b[0m", "\x1b[1mthree\x1b[0m"}},
	} {
		if got := Wrap(tt.line, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tt.line, tt.width, got, tt.want)
		}
	}
}

func TestBreakKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := EscapeStrict(strings.ReplaceAll(rapid.StringOf(rapid.SampledFrom([]rune("ab  世👩é\u0301\u200dकि-"))).Draw(t, "line"), "\n", ""))
		width := rapid.IntRange(2, 20).Draw(t, "width")
		parts := Break(line, width)
		if strings.Join(parts, "") != line {
			t.Fatalf("%q became %q", line, parts)
		}
		for _, p := range parts {
			if Width(p) > width {
				t.Fatalf("%q is wider than %d", p, width)
			}
		}
		for _, l := range Wrap("\x1b[2m"+line+"\x1b[0m x", width) {
			if Width(l) > width {
				t.Fatalf("folded %q is wider than %d", l, width)
			}
		}
	})
}
