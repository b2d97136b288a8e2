package markdown

import (
	"fmt"
	"strings"
	"testing"
)

// constructs have a %s wherever text of a model can stand.
var constructs = []string{
	"%s", "# %s", "%s\n===", "*%s*", "**%s", "~~%s~~", "`%s`", "`` %s", "\\%s", "[%s](http://a)", "[a](http://a/%s)", "[a](<http://a/%s>)",
	"[a](http://a \"%s\")", "![%s](http://a)", "![](http://a/%s)", "<http://a/%s>", "<%s@b.c>", "http://a/%s", "[%s]: http://a/%s '%s'\n\n[%s] [a][%s]",
	"[^%s]: a\n%s\n\n[^%s]", "- %s", "- [x] %s", "1. %s\n2. %s", "> %s\n%s", "```%s\n%s\n```", "~~~ %s\n%s", "    %s", "<div %s>\n%s", "a <b %s> c",
	"| %s | b |\n|---|---|\n| %s | %s |", "&%s;", "```diff\n+%s\n```", "```json\n{\"%s\": \"%s\n", "```html\n<a b=\"%s\" %s\n", "***\n%s", "- a\n\n  > %s",
}

// TestControls puts control characters into every construct, written in parts of every size.
func TestControls(t *testing.T) {
	payloads := []string{
		"\x1b[31mred", "\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\", "\x1b]0;title\x07", "\x9b2J", "\u009b2J", "\u009d0;t\u009c", "\x1bP$q\x1b\\", "\x1b", "a\x07b\x08\x08\rc", "\x00\x7f",
		"\u202eabc\u202c", "\u2066a\u2069", "&#27;[2J", "&#x9b;2J", "&#x202e;a", "\xff\xfe\x1b[m", "\u2028\u2029\u0085x",
	}
	for _, c := range constructs {
		for _, p := range payloads {
			text := strings.ReplaceAll(c, "%s", p)
			for style := Plain; style <= TrueColor; style++ {
				for _, links := range []bool{false, true} {
					o := &Options{Style: style, Hyperlinks: links}
					checkLines(t, all(o, text, 30), 30)
					s := New(o)
					for i := range len(text) {
						s.Write(text[i : i+1])
						checkLines(t, s.Done(30), 30)
						checkLines(t, s.Live(30), 30)
					}
					checkLines(t, s.Close(30), 30)
				}
			}
		}
	}
}

// TestSchemes shows that only web and mail addresses become links that a click opens.
func TestSchemes(t *testing.T) {
	for _, url := range []string{
		"javascript:alert(1)", "JavaScript:alert(1)", "java\tscript:x", "&#106;avascript:x", "\\javascript:x", "data:text/html,x", "vbscript:x", "file:///etc/passwd",
		"ssh://-oProxyCommand=x", "vscode://x", "//evil", "x-man-page://x", " javascript:x", "\x01javascript:x", "http\x00:x",
	} {
		for _, c := range constructs {
			c = strings.ReplaceAll(c, "http://a/", "%s")
			text := strings.ReplaceAll(strings.ReplaceAll(c, "http://a", "%s"), "%s", url)
			for _, line := range all(&Options{Style: TrueColor, Hyperlinks: true}, text, 60) {
				for _, part := range strings.Split(line, "\x1b]8;")[1:] {
					_, target, _ := strings.Cut(part, ";")
					target = target[:strings.IndexAny(target, "\x07\x1b")]
					if target != "" && !strings.HasPrefix(target, "http://") && !strings.HasPrefix(target, "https://") && !strings.HasPrefix(target, "mailto:") {
						t.Errorf("%q: a link to %q", text, target)
					}
				}
			}
		}
	}
}

// TestLongFence shows that the lines of an open code block become final one by one, so what is redrawn stays small.
func TestLongFence(t *testing.T) {
	for _, before := range []string{"", "- a\n", "> ", "1. a\n\n   - "} {
		inside := strings.Repeat(" ", map[string]int{"- a\n": 2, "1. a\n\n   - ": 5}[before])
		if before == "> " {
			inside = before
		}
		s := New(&Options{Style: ANSI16})
		first := before + "```go\n"
		if before == "- a\n" {
			first = before + inside + "```go\n"
		}
		s.Write(first)
		s.Done(80)
		for i := range 10_000 {
			s.Write(fmt.Sprintf("%sx := %d // one\n", inside, i))
			if n := len(s.Done(80)); n != 1 {
				t.Fatalf("%q: line %d gives %d final lines", before, i, n)
			}
			if n := len(s.Live(80)); n != 0 {
				t.Fatalf("%q: line %d leaves %d lines open", before, i, n)
			}
		}
		s.Write(inside + "y")
		if n := len(s.Live(80)); n != 1 {
			t.Fatalf("%q: %d lines for an incomplete one", before, n)
		}
	}
}

// TestLiveIsSmall shows that what is redrawn is bounded in any text but a table, which is bounded by maxTable.
func TestLiveIsSmall(t *testing.T) {
	for name, unit := range map[string]string{"paragraph": "word ", "lines": "word\n", "items": "- item\n", "nested": "- a\n  - b\n", "quote": "> a\n", "word": "x", "wide": "日本",
		"indented": "    code\n", "HTML": "<div>\n", "definitions": "[a]: http://b\n", "notes": "[^1]: a\n", "headings": "# a\n", "rules": "---\n"} {
		s := New(&Options{Style: ANSI16})
		most, n := 0, 30_000/len(unit)
		for i := range n {
			s.Write(unit)
			if i%50 == 0 || i > n-10 {
				s.Done(80)
				most = max(most, len(s.Live(80)))
			}
		}
		if limit := 2*maxLeaf/80 + 25; most > limit {
			t.Errorf("%s: %d live lines, want at most %d", name, most, limit)
		}
	}
}

func TestReferences(t *testing.T) {
	tests := []struct{ in, want string }{
		{"[a]: http://x 'T'\n\n[a] [b][A] [a][] [c]", "[a]: http://x 'T'||a (http://x) b (http://x) a (http://x) [c]"},
		{"[a]\n\n[a]: http://x", "[a]||[a]: http://x"},                                                 // it is printed already
		{"[a]: http://x\n[b]: http://y\n\n[b]", "[a]: http://x|[b]: http://y||b (http://y)"},           // one line each
		{"[a]: http://x\n[a]: http://y\n\n[a]", "[a]: http://x|[a]: http://y||a (http://x)"},           // the first counts
		{"text\n[a]: http://x\n\n[a]", "text [a]: http://x||[a]"},                                      // not in a paragraph
		{"> [a]: http://x\n\n[a]", "> [a]: http://x||a (http://x)"},                                    // in a quote
		{"[a]: javascript:x\n\n[a]", "[a]: javascript:x||a (javascript:x)"},                            // shown
		{"one[^1] two[^2]\n\n[^1]: One\nmore\n[^2]: Two", "one[^1] two[^2]||[^1]: One more|[^2]: Two"}, // notes
		{"[![a](http://i)](http://l)", "image: a (http://l)"},                                          // a badge
		{"x[0] [0]\n\n[0]: http://x\n\nx[0] [0]", "x[0] [0]||[0]: http://x||x[0] 0 (http://x)"},        // an index
	}
	for _, tt := range tests {
		if got := strings.Join(all(nil, tt.in, 80), "|"); got != tt.want {
			t.Errorf("%q:\n got %q\nwant %q", tt.in, got, tt.want)
		}
	}
}

// TestLiveKeepsText shows that nothing disappears behind a sign that only looks like the start of a link.
func TestLiveKeepsText(t *testing.T) {
	for _, text := range []string{"[a][2] end", "[a] end", "[a][1] end", "[a](b) end", "[a](b end", "[a] (b end", "[a][] end", "![a][2] end", "x[0][2] end", "[^1] end", "[[a][2] end", "a <b end", "`a` [b end"} {
		s := New(nil)
		s.Write("[1]: http://x\n\n" + text)
		if got := s.Live(80); len(got) == 0 || !strings.HasSuffix(got[len(got)-1], "end") {
			t.Errorf("%q: %q", text, got)
		}
	}
}
