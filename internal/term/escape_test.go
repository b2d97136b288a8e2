package term

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for _, tt := range []struct{ in, escaped, strict string }{
		{"", "", ""},
		{"plain text\n\ttab", "plain text\n\ttab", "plain text\n\ttab"},
		{"größer 日本 🙂", "größer 日本 🙂", "größer 日本 🙂"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`, `\x1b[31mred\x1b[0m`},
		{"\x1b]0;title\a", `\x1b]0;title\x07`, `\x1b]0;title\x07`},
		{"a\r\nb", "a\nb", `a\x0d` + "\nb"},
		{"good\rbad", `good\x0dbad`, `good\x0dbad`},
		{"back\b\bspace", `back\x08\x08space`, `back\x08\x08space`},
		{"del\x7f", `del\x7f`, `del\x7f`},
		{"c1 \u009b31m", `c1 \u009b31m`, `c1 \u009b31m`},
		{"\u202egpj.exe\u202c", `\u202egpj.exe\u202c`, `\u202egpj.exe\u202c`},
		{"\u2066x\u2069", `\u2066x\u2069`, `\u2066x\u2069`},
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`, `zero\u200bwidth\ufeff`},
		{"👩\u200d💻", "👩\u200d💻", `👩\u200d💻`},
		{"nb\u00a0sp", "nb\u00a0sp", `nb\u00a0sp`},
		{"tag\U000e0041", `tag\U000e0041`, `tag\U000e0041`},
		{"line\u2028sep", `line\u2028sep`, `line\u2028sep`},
		{"bad\xffbyte", `bad\xffbyte`, `bad\xffbyte`},
		{"real \ufffd", "real \ufffd", "real \ufffd"},
		{"blank\u3164", `blank\u3164`, `blank\u3164`},
	} {
		if got := Escape(tt.in); got != tt.escaped {
			t.Errorf("Escape(%q) = %q, want %q", tt.in, got, tt.escaped)
		}
		if got := EscapeStrict(tt.in); got != tt.strict {
			t.Errorf("EscapeStrict(%q) = %q, want %q", tt.in, got, tt.strict)
		}
	}
}

// Whatever goes in, nothing that steers a Style comes out, and JSON keeps its
// meaning.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "a\r\nb", "\u202e", "\xff\xfe", "\u009b", "\U000e0001", "👩\u200d💻"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, out := range map[string]string{"Escape": Escape(s), "EscapeStrict": EscapeStrict(s)} {
			if !utf8.ValidString(out) {
				t.Errorf("%s(%q) is not UTF-8", name, s)
			}
			if i := strings.IndexFunc(out, func(r rune) bool { return isControl(r, name == "EscapeStrict") }); i >= 0 {
				t.Errorf("%s(%q) = %q steers at %d", name, s, out, i)
			}
		}
		b, err := MarshalJSON(map[string]string{s: s}, true)
		if err != nil {
			t.Fatal(err)
		}
		if i := bytes.IndexFunc(b, func(r rune) bool { return isControl(r, false) }); i >= 0 {
			t.Errorf("JSON of %q steers at %d", s, i)
		}
		var back map[string]string
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		for k, v := range back {
			if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && (k != want || v != want) {
				t.Errorf("JSON of %q came back as %q, %q", s, k, v)
			}
		}
	})
}
