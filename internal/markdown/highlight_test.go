package markdown

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// roleSigns are how the tests write roles: k‹func› is a keyword.
var roleSigns = map[role]string{
	roleKeyword: "k", roleString: "s", roleNumber: "n", roleComment: "c", roleKey: "y", roleAdded: "+", roleRemoved: "-", roleDim: "d",
}

func TestHighlight(t *testing.T) {
	tests := []struct{ language, code, want string }{
		{"go", "func f() int { return 0x1f } // c", "k‹func› f() k‹int› { k‹return› n‹0x1f› } c‹// c›"},
		{"go", "a /* b\nc */ d", "a c‹/* b›\nc‹c */› d"},
		{"go", "x := `a\nb\\` + \"c\\\"d\"", "x := s‹`a›\ns‹b\\`› + s‹\"c\\\"d\"›"},
		{"python", "def f(): # c\n  '''a\n  b''' f'x'", "k‹def› f(): c‹# c›\n  s‹'''a›\ns‹  b'''› fs‹'x'›"},
		{"ts", "const a: string = `x ${1}`", "k‹const› a: k‹string› = s‹`x ${1}`›"},
		{"rust", "fn f<'a>(x: &'a str) -> char { 'c' }", "k‹fn› f<'a>(x: &'a k‹str›) -> char { s‹'c'› }"},
		{"c", "int x = 'a'; /* y */", "k‹int› x = s‹'a'›; c‹/* y */›"},
		{"sh", "echo \"a\nb\" $HOME a#b # c", "k‹echo› s‹\"a›\ns‹b\"› y‹$HOME› a#b c‹# c›"},
		{"json", `{"a": "b", "c": [1, null]}`, `{y‹"a"›: s‹"b"›, y‹"c"›: [n‹1›, k‹null›]}`},
		{"yaml", "a-b: don't # c", "y‹a-b›: don't c‹# c›"},
		{"toml", "a.b = 1 # c", "y‹a.b› = n‹1› c‹# c›"},
		{"sql", "SELECT a FROM b -- c", "k‹SELECT› a k‹FROM› b c‹-- c›"},
		{"html", `<a href="x">it's</a> <!-- c -->`, `k‹<a› y‹href›=s‹"x"›k‹>›it's` + `k‹</a>› c‹<!-- c -->›`},
		{"css", "a { color: red } /* c */", "a { y‹color›: red } c‹/* c */›"},
		{"diff", "@@ 1 @@\n+a\n-b\n c", "n‹@@ 1 @@›\n+‹+a›\n-‹-b›\n c"},
		{"brainfuck", "func \"a\"", "func \"a\""},
		{"go", "\x1b[31m\"\x1b\"", `\x1b[n‹31m›s‹"\x1b"›`},
	}
	for _, tt := range tests {
		x := newLexer(tt.language)
		var lines []string
		for _, line := range strings.Split(tt.code, "\n") {
			var b strings.Builder
			for _, s := range x.line(line) {
				if sign := roleSigns[s.attr.role]; sign != "" {
					b.WriteString(sign + "‹" + s.text + "›")
				} else {
					b.WriteString(s.text)
				}
			}
			lines = append(lines, b.String())
		}
		if got := strings.Join(lines, "\n"); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.language, got, tt.want)
		}
	}
}

// TestHighlightKeepsText shows that a lexer only colors: no character is lost or added.
func TestHighlightKeepsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newLexer(rapid.SampledFrom([]string{"go", "py", "js", "rust", "c", "sh", "json", "yaml", "toml", "sql", "html", "css", "diff"}).Draw(t, "language"))
		for _, line := range rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("ab1 \"'`/*#-<>=:$@\\{}!é日")))).Draw(t, "lines") {
			got := ""
			for _, s := range x.line(line) {
				got += s.text
			}
			if got != line {
				t.Fatalf("%q became %q", line, got)
			}
		}
	})
}
