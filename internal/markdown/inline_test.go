package markdown

import (
	"strings"
	"testing"
)

func TestSafeURL(t *testing.T) {
	tests := []struct{ in, want string }{
		{"https://a.b/c?d=e", "https://a.b/c?d=e"},
		{"HTTP://a", "HTTP://a"},
		{"mailto:a@b.c", "mailto:a@b.c"},
		{"http://a/\x1b\\\x07é b", "http://a/%1B\\%07%C3%A9%20b"},
		{"javascript:alert(1)", ""},
		{"file:///etc/passwd", ""},
		{"ssh://-oProxyCommand=x", ""},
		{"relative/path", ""},
		{"https:", ""},
		{"http://" + strings.Repeat("a", 3000), ""},
	}
	for _, tt := range tests {
		if got := safeURL(tt.in); got != tt.want {
			t.Errorf("%.60q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestInline(t *testing.T) {
	tests := []struct{ in, want string }{
		{"a *b* `c*d*`", "a b `c*d*`"},
		{`\*a\* &lt;b&gt; \&amp; &#27;x &nosuch; A&B`, `*a* <b> &amp; \x1bx &nosuch; A&B`},
		{"[a](http://b)", "a (http://b)"},
		{"[http://b](http://b)", "http://b"},
		{"[http://good](http://evil)", "http://good (http://evil)"},
		{"[a](docs/b.md)", "a (docs/b.md)"},
		{"see https://a.b/c_d_(e).", "see https://a.b/c_d_(e)."},
		{"<b>bold</b>", "<b>bold</b>"},
		{"a  \nb\nc", "a\nb c"},
		{"~~a~~ ~b~", "~~a~~ ~b~"},
	}
	o := &Options{}
	for _, tt := range tests {
		var got strings.Builder
		for _, s := range o.inline(tt.in, attr{}, false) {
			got.WriteString(s.text)
		}
		if got.String() != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got.String(), tt.want)
		}
	}
	linked := all(&Options{Style: ANSI16, Hyperlinks: true}, "[https://good](https://evil) [x](https://y)", 80)[0]
	for _, want := range []string{"(https://evil)", ";https://y\x07"} {
		if !strings.Contains(strings.ReplaceAll(linked, "\x1b\\", "\x07"), want) {
			t.Errorf("%q has no %q", linked, want)
		}
	}
}

func TestWrap(t *testing.T) {
	tests := []struct {
		in    string
		width int
		want  string
	}{
		{"one two three", 7, "one two|three"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"日本語、です", 6, "日本|語、で|す"},
		{"a 👩‍💻👩‍💻 b", 4, "a 👩‍💻|👩‍💻 b"},
		{"cafe\u0301 cafe\u0301", 4, "cafe\u0301|cafe\u0301"},
		{"a\nb", 10, "a|b"},
		{"", 10, ""},
	}
	for _, tt := range tests {
		var got []string
		for _, line := range wrap([]span{{tt.in, attr{}}}, tt.width) {
			text := ""
			for _, s := range line {
				text += s.text
			}
			got = append(got, text)
		}
		if s := strings.Join(got, "|"); s != tt.want {
			t.Errorf("%q at %d: %q, want %q", tt.in, tt.width, s, tt.want)
		}
	}
}
