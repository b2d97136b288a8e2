package shellparse

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

func TestUnescapeANSI(t *testing.T) {
	for in, want := range map[string]string{
		``: ``, `a`: `a`, `\`: `\`, `a\`: `a\`, `\q`: `\q`, `\x`: `\x`, `\xg`: `\xg`, `\u`: `\u`, `\c`: `\c`,
		`a\0b`: `a`, `a\x00b`: `a`, `a\u0000b`: `a`, `a\c@b`: `a`, `\400x`: ``,
		`\a\b\e\E\f\n\r\t\v`: "\a\b\x1b\x1b\f\n\r\t\v", `\\\'\"\?`: `\'"?`,
		`\162m`: `rm`, `\x72m`: `rm`, `\u0072m`: `rm`, `\U00000072m`: `rm`, `\x7`: "\a", `\x72d`: `rd`, `\1234`: "S4",
		`\u00e9`: `é`, `\ca\cA\c?`: "\x01\x01\x7f", `\c\\x`: "\x1cx", `\xe9`: "\xe9",
	} {
		if got := unescapeANSI(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestUnescapeQuoted(t *testing.T) {
	for _, tt := range []struct {
		in       string
		document bool
		want     string
	}{
		{`a`, false, `a`},
		{`\`, false, `\`},
		{`\a`, false, `\a`},
		{`\'`, false, `\'`},
		{`\$\\\"` + "\\`", false, "$\\\"`"},
		{`\"`, true, `\"`},
		{`\$`, true, `$`},
		{"a\\\nb", true, "ab"},
	} {
		if got := unescapeQuoted(tt.in, tt.document); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

// expanded is what a word's braces make, joined by blanks.
func expanded(t *testing.T, src string) (string, bool) {
	t.Helper()
	var w *syntax.Word
	for word, err := range syntax.NewParser().WordsSeq(strings.NewReader(src)) {
		if err != nil {
			t.Fatal(err)
		}
		w = word
	}
	list, ok := expandBraces(w)
	var out []string
	for _, parts := range list {
		var b strings.Builder
		for _, p := range parts {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(p.Value)
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			}
		}
		out = append(out, b.String())
	}
	return strings.Join(out, " "), ok
}

func TestBraces(t *testing.T) {
	for in, want := range map[string]string{
		`a`: `a`, `{a}`: `{a}`, `{a,b`: `{a,b`, `a,b}`: `a,b}`, `{}`: `{}`, `\{a,b}`: `\{a,b}`, `{a..3}`: `{a..3}`, `{1..2..3..4}`: `{1..2..3..4}`,
		`{a,b}`: `a b`, `x{a,b}y`: `xay xby`, `{a,b}{c,d}`: `ac ad bc bd`, `{a,{b,c}d}`: `a bd cd`, `{,a}`: ` a`,
		`{1..3}`: `1 2 3`, `{3..1}`: `3 2 1`, `{1..7..3}`: `1 4 7`, `{7..1..3}`: `7 4 1`, `{1..3..0}`: `1 2 3`, `{1..3..-1}`: `1 2 3`,
		`{08..10}`: `08 09 10`, `{-01..1}`: `-01 000 001`, `{a..c}`: `a b c`, `{c..a..2}`: `c a`, `{'a,b',c}`: `a,b c`,
	} {
		if got, ok := expanded(t, in); got != want || !ok {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{`{1..99999}`, strings.Repeat(`{a,b}`, 11), `{-9999999999999..9}`, `{{1..999},{1..999}}`} {
		if got, ok := expanded(t, in); ok {
			t.Errorf("%s makes %d bytes", in, len(got))
		}
	}
}
