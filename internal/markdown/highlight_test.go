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
		{"ts", "const a: string = `x ${1}`", "k‹const› a: string = s‹`x ${1}`›"},
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
		// What is no keyword, string or number where it stands has no color.
		{"go", "x.type + x.len(a.map)", "x.type + x.len(a.map)"},
		{"go", "a[0:1] 1_000 1.5e3 0x1F", "a[n‹0›:n‹1›] n‹1_000› n‹1.5e3› n‹0x1F›"},
		{"python", "match = re.match(r'\\d', x)\nmatch x:\n  case 'a': pass", "match = re.match(rs‹'\\d'›, x)\nk‹match› x:\n  k‹case› s‹'a'›: k‹pass›"},
		{"python", "it's", "it's"},
		{"ts", "type A = {type: string, from: number}; x.delete(get)", "k‹type› A = {type: string, from: number}; x.delete(get)"},
		{"ts", "a.replace(/'\\//g, b) / c / d", "a.replace(s‹/'\\//›g, b) / c / d"},
		{"ts", "x = `a\\`b` + 1", "x = s‹`a\\`b`› + n‹1›"},
		{"tsx", "<p>Don't</p>", "<p>Don't</p>"},
		{"rust", "x.0.len() + &a[0..8] + br#\"a\"b\"# + '\"'", "x.n‹0›.len() + &a[n‹0›..n‹8›] + s‹br#\"a\"b\"#› + s‹'\"'›"},
		{"rust", "\"a\nb\" c", "s‹\"a›\ns‹b\"› c"},
		{"sh", "git set --for in; if true; then exit 1; fi", "git set --for in; k‹if› true; k‹then› k‹exit› n‹1›; k‹fi›"},
		{"sh", "cat <<-'EOF' >x\nit's \"for\n\tEOF\nexit", "cat <<-s‹'EOF'› >x\ns‹it's \"for›\ns‹\tEOF›\nk‹exit›"},
		{"sh", "echo 'a\\' \\\" b 2>&1 go1.26 # it's", "k‹echo› s‹'a\\'› \\\" b 2>&1 go1.26 c‹# it's›"},
		{"sh", "awk '\n{ print }\n' x <<< y\nz", "awk '\n{ print }\n' x <<< y\nz"},
		{"json", `{"a":1,"b": "c:d"}`, `{y‹"a"›:n‹1›,y‹"b"›: s‹"c:d"›}`},
		{"yaml", "a: http://x:8080/no\nb: 1.2.3\nc: x == 'y' yes\nd: 'z' # it's\n'e': [1, true]", "y‹a›: http://x:8080/no\ny‹b›: 1.2.3\ny‹c›: x == 'y' yes\ny‹d›: s‹'z'› c‹# it's›\ny‹'e'›: [n‹1›, k‹true›]"},
		{"yaml", "- run: |\n    if: \"it's # no\n\n    x: 1\n  b: 1", "- y‹run›: |\n    if: \"it's # no\n\n    x: 1\n  y‹b›: n‹1›"},
		{"sql", "a = 'C:\\' AND t.key = 'x\ny'", "a = s‹'C:\\'› k‹AND› t.key = s‹'x›\ns‹y'›"},
		{"html", "<script>\nif (a<b) x = \"y\n</script>\n<b a='c'>", "k‹<script>›\nif (a<b) x = \"y\n</script>\nk‹<b› y‹a›=s‹'c'›k‹>›"},
		{"css", "a:hover { top: 1px }", "a:hover { y‹top›: n‹1px› }"},
		{"java", "map.delete(template, object); String s = \"\"\"\n a \"\"\";", "map.delete(template, object); String s = s‹\"\"\"›\ns‹ a \"\"\"›;"},
		{"java", "record = x; record P(int a) {}", "record = x; k‹record› P(k‹int› a) {}"},
		{"c", "delete(class)", "delete(class)"},
		{"c", "#define A 'x' // it's", "#k‹define› A s‹'x'› c‹// it's›"},
		{"diff", "--- x\n+++ x\n@@ 1 @@\n--- a SQL comment\n+++ i\ndiff --git\n--- a/x", "d‹--- x›\nd‹+++ x›\nn‹@@ 1 @@›\n-‹--- a SQL comment›\n+‹+++ i›\nd‹diff --git›\nd‹--- a/x›"},
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
