package htmlpage

import (
	"strings"
	"testing"
)

func FuzzEscape(f *testing.F) {
	f.Add(`<script>"'&`)
	f.Fuzz(func(t *testing.T, s string) {
		out := strings.ReplaceAll(strings.ReplaceAll(Escape(s), `<span class="bad">U+`, ""), "</span>", "")
		if strings.ContainsAny(out, `<>"'`) {
			t.Fatalf("%q becomes %q", s, out)
		}
	})
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain, and two\nlines\t": "plain, and two\nlines\t",
		"<b onclick='x'>&\"":      "&lt;b onclick=&#39;x&#39;&gt;&amp;&#34;",
		"\x1b[2J":                 `<span class="bad">U+001B</span>[2J`,
		"a\u202eb\u200b":          `a<span class="bad">U+202E</span>b<span class="bad">U+200B</span>`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

// The digest of nothing is well known.
func TestCSPHash(t *testing.T) {
	if got := CSPHash(""); got != "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" {
		t.Error(got)
	}
}
