package markdown

import "strings"

// lexer finds the comments, strings, numbers and keywords of code, line by line. It knows where a comment or a string
// of several lines is open, and no more of a grammar. What it is not sure of has no color: a wrong one is worse than
// none. A copy of a lexer continues on its own.
type lexer struct {
	lang  *language
	words map[string]bool
	until string // the end of what is open
	role  role
	inTag bool   // in a tag of markup, or in a hunk of a diff
	tag   string // the name of that tag
	here  string // the line that ends a here-document
	block int    // columns that a line of a YAML block has more than
	open  bool   // such a block is open
}

func newLexer(name string) lexer {
	l := languageOf(name)
	if l == nil {
		return lexer{}
	}
	words := map[string]bool{}
	for _, w := range strings.Fields(l.keywords) {
		words[w] = true
	}
	return lexer{lang: l, words: words}
}

// line returns a line with roles.
func (x *lexer) line(s string) []span {
	switch {
	case s == "":
		return nil
	case x.lang == nil:
		return []span{newSpan(s, attr{})}
	case x.lang.diff:
		return []span{newSpan(s, attr{role: x.diffRole(s)})}
	case x.here != "":
		if strings.TrimLeft(s, "\t") == x.here {
			x.here = ""
		}
		return []span{newSpan(s, attr{role: roleString})}
	case x.open:
		if in, text := indentation(s); text == "" || in > x.block {
			return []span{newSpan(s, attr{})}
		}
		x.open = false
	}
	var out []span
	start, end, last := 0, 0, roleText // s[start:end] has the role last and is not yet in out
	put := func(to int, r role) {
		if to == end {
			return
		}
		if r != last && end > start {
			out = append(out, newSpan(s[start:end], attr{role: last}))
			start = end
		}
		end, last = to, r
	}
	for i := 0; i < len(s); {
		if x.until != "" {
			end := stringEnd(s[i:], x.until, x.role == roleString && x.lang.escapes(x.until))
			if end < 0 {
				put(len(s), x.role)
				break
			}
			put(i+end, x.role)
			i, x.until = i+end, ""
			continue
		}
		n, r := x.token(s, i)
		if r != roleText {
			put(i, roleText)
			put(i+n, r)
		}
		i += n
	}
	put(len(s), roleText)
	x.after(s)
	return append(out, newSpan(s[start:end], attr{role: last}))
}

// after looks at a line for what makes text of the next ones.
func (x *lexer) after(s string) {
	switch l := x.lang; {
	case l.commands && x.until == "":
		if i := strings.Index(s, "<<"); i >= 0 && !strings.HasPrefix(s[i:], "<<<") {
			word := strings.TrimLeft(strings.TrimLeft(s[i+2:], "-~"), " \"'\\")
			if n := wordLen(word, ""); n > 0 && letter(word[0]) {
				x.here = word[:n]
			}
		}
	case l.values:
		if t := strings.TrimRight(s, "+-0123456789 "); t != "" && strings.IndexByte("|>", t[len(t)-1]) >= 0 && lastByte(t[:len(t)-1], 0) == ':' {
			x.open, x.block = true, len(s)-len(strings.TrimLeft(s, " -"))
		}
	}
}

// token returns the length and the role of the token at i.
func (x *lexer) token(s string, i int) (int, role) {
	l, rest := x.lang, s[i:]
	for _, c := range l.blocks {
		if strings.HasPrefix(rest, c[0]) {
			return x.start(rest, c[0], c[1], roleComment)
		}
	}
	if l.markup && !x.inTag {
		if rest[0] == '<' && len(rest) > 1 && (letter(rest[1]) || rest[1] == '/' || rest[1] == '!') {
			n := 2 + wordLen(rest[2:], "-")
			x.inTag, x.tag = true, strings.ToLower(rest[1:n])
			return n, roleKeyword
		}
		return 1, roleText
	}
	for _, c := range l.line {
		if strings.HasPrefix(rest, c) && (c != "#" || i == 0 || s[i-1] == ' ' || s[i-1] == '\t' || l.hash) {
			return len(rest), roleComment
		}
	}
	for _, q := range l.long {
		if strings.HasPrefix(rest, q[0]) {
			return x.start(rest, q[0], q[1], roleString)
		}
	}
	switch c := rest[0]; {
	case c == '\\' && l.commands:
		return min(2, len(rest)), roleText
	case strings.IndexByte(l.quotes, c) >= 0:
		end := stringEnd(rest[1:], rest[:1], l.escapes(rest[:1]))
		switch {
		case c == '\'' && i > 0 && letter(s[i-1]) && !l.prefixes, c == '\'' && end < 0: // an apostrophe
		case l.lifetimes && c == '\'' && end > 4 && rest[1] != '\\':
		case l.values && end > 0 && !x.value(s, i, end+1) && x.keyRole(rest, end+1, roleText) == roleText:
		case end < 0:
			return len(rest), roleString
		default:
			return end + 1, x.keyRole(rest, end+1, roleString)
		}
		return 1, roleText
	case c == '/' && l.regexps && strings.IndexByte("(,=:[!&|?{};", lastByte(s[:i], ';')) >= 0:
		if end := stringEnd(rest[1:], "/", true); end > 0 {
			return end + 1, roleString
		}
	case x.inTag && c == '>':
		x.inTag = false
		if x.tag == "script" || x.tag == "style" {
			x.until, x.role = "</"+x.tag, roleText
		}
		return 1, roleKeyword
	case c == '$' && l.variables && len(rest) > 1:
		return 1 + wordLen(rest[1:], "{}"), roleKey
	case c >= '0' && c <= '9':
		n := wordLen(rest, "")
		if n+1 < len(rest) && rest[n] == '.' && rest[n+1] >= '0' && rest[n+1] <= '9' {
			n += 1 + wordLen(rest[n+1:], "")
		}
		if (l.values || l.commands) && !x.value(s, i, n) {
			return n, roleText
		}
		return n, roleNumber
	case letter(c) || c == '_' || c == '@':
		n := max(wordLen(rest, l.inWord), 1)
		w := rest[:n]
		if l.fold {
			w = strings.ToLower(w)
		}
		if x.words[w] && x.isKeyword(s, i, n) {
			return n, roleKeyword
		}
		return n, x.keyRole(rest, n, roleText)
	}
	return 1, roleText
}

// isKeyword reports whether the word at i, which is in the list of keywords, stands where it is one.
func (x *lexer) isKeyword(s string, i, n int) bool {
	switch w := s[i : i+n]; {
	case strings.HasSuffix(s[:i], ".") && !strings.HasSuffix(s[:i], ".."): // a field or a method
		return false
	case x.lang.values:
		return x.value(s, i, n)
	case x.lang.commands: // the first word of a command
		before := strings.TrimRight(s[:i], " \t")
		last := before[strings.LastIndexAny(before, " \t;|&(")+1:]
		return strings.IndexByte(";|&({`!$", lastByte(before, ';')) >= 0 || strings.Contains(" if then elif else do while until time sudo ", " "+last+" ")
	case strings.Contains(x.lang.soft, " "+w+" "): // a name, unless another word follows
		t := strings.TrimLeft(s[i+n:], " ")
		return len(t) < len(s)-i-n && t != "" && (wordLen(t, "$") > 0 || strings.IndexByte("{[*\"'", t[0]) >= 0)
	}
	return true
}

// value reports whether a YAML value or an argument of a command is s[i:i+n] and nothing else.
func (x *lexer) value(s string, i, n int) bool {
	if x.lang.commands {
		return i > 0 && strings.IndexByte(" =", s[i-1]) >= 0 && (len(s) == i+n || strings.IndexByte(" ;)", s[i+n]) >= 0)
	}
	after := strings.TrimLeft(s[i+n:]+"#", " \t")
	return strings.IndexByte(":-[{,", lastByte(s[:i], ':')) >= 0 && strings.IndexByte(",]}#", after[0]) >= 0
}

// lastByte returns the last byte of s that is no space, or other.
func lastByte(s string, other byte) byte {
	if s = strings.TrimRight(s, " \t"); s == "" {
		return other
	}
	return s[len(s)-1]
}

// keyRole returns roleKey if the word of length n is a key, because a colon or an equals sign follows.
func (x *lexer) keyRole(s string, n int, other role) role {
	t := strings.TrimLeft(s[n:], " ")
	if sign := x.lang.keySign; sign == 0 || t == "" || t[0] != sign || sign == ':' && other == roleText && len(t) > 1 && t[1] != ' ' {
		return other
	}
	return roleKey
}

// start starts a string or a comment that can last for several lines.
func (x *lexer) start(s, first, last string, r role) (int, role) {
	end := stringEnd(s[len(first):], last, r == roleString && x.lang.escapes(last))
	if end < 0 {
		x.until, x.role = last, r
		return len(s), r
	}
	return len(first) + end, r
}

// escapes reports whether a backslash hides the end of a string that ends with this sign.
func (l *language) escapes(end string) bool {
	return len(end) != 2 && !strings.Contains(l.raw, end[:1])
}

// stringEnd returns the index after the end sign, or -1. A backslash hides the next character.
func stringEnd(s, end string, escapes bool) int {
	for i := 0; i < len(s); i++ {
		if escapes && s[i] == '\\' {
			i++
		} else if strings.HasPrefix(s[i:], end) {
			return i + len(end)
		}
	}
	return -1
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 }

func wordLen(s, more string) int {
	n := 0
	for n < len(s) && (letter(s[n]) || s[n] >= '0' && s[n] <= '9' || s[n] == '_' || n == 0 && s[n] == '@' ||
		strings.IndexByte(more, s[n]) >= 0) {
		n++
	}
	return n
}

func (x *lexer) diffRole(s string) role {
	inHunk := x.inTag
	switch {
	case strings.HasPrefix(s, "diff "), strings.HasPrefix(s, "index "):
		x.inTag = false
		return roleDim
	case strings.HasPrefix(s, "@@"):
		x.inTag = true
		return roleNumber
	case strings.HasPrefix(s, "--- a/"), strings.HasPrefix(s, "+++ b/"), !inHunk && (strings.HasPrefix(s, "--- ") || strings.HasPrefix(s, "+++ ")):
		return roleDim
	case s[0] == '+':
		return roleAdded
	case s[0] == '-':
		return roleRemoved
	}
	return roleText
}
