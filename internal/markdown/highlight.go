package markdown

import "strings"

// lexer finds the comments, strings, numbers and keywords of code, line by line. It knows where a comment or a string
// of several lines is open, and no more of a grammar. A copy of a lexer continues on its own.
type lexer struct {
	lang  *language
	words map[string]bool
	until string // the end of what is open
	role  role
	inTag bool // in markup
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
		return []span{newSpan(s, attr{role: diffRole(s)})}
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
			end := stringEnd(s[i:], x.until, x.role == roleString)
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
	return append(out, newSpan(s[start:end], attr{role: last}))
}

// token returns the length and the role of the token at i.
func (x *lexer) token(s string, i int) (int, role) {
	l, rest := x.lang, s[i:]
	for _, c := range l.blocks {
		if strings.HasPrefix(rest, c[0]) {
			return x.open(rest, c[0], c[1], roleComment)
		}
	}
	if l.markup && !x.inTag {
		if rest[0] == '<' && len(rest) > 1 && (letter(rest[1]) || rest[1] == '/' || rest[1] == '!') {
			x.inTag = true
			return 2 + wordLen(rest[2:], "-"), roleKeyword
		}
		return 1, roleText
	}
	for _, c := range l.line {
		if strings.HasPrefix(rest, c) && (c != "#" || i == 0 || s[i-1] == ' ' || s[i-1] == '\t' || l.hash) {
			return len(rest), roleComment
		}
	}
	for _, q := range l.long {
		if strings.HasPrefix(rest, q) {
			return x.open(rest, q, q, roleString)
		}
	}
	switch c := rest[0]; {
	case strings.IndexByte(l.quotes, c) >= 0:
		if c == '\'' && i > 0 && letter(s[i-1]) && !l.prefixes {
			return 1, roleText // an apostrophe
		}
		end := stringEnd(rest[1:], rest[:1], true)
		if end < 0 {
			if l.lifetimes && c == '\'' {
				return 1, roleText
			}
			return len(rest), roleString
		}
		if l.lifetimes && c == '\'' && end > 4 && rest[1] != '\\' {
			return 1, roleText
		}
		return end + 1, x.keyRole(rest, end+1, roleString)
	case x.inTag && c == '>':
		x.inTag = false
		return 1, roleKeyword
	case c == '$' && l.variables && len(rest) > 1:
		return 1 + wordLen(rest[1:], "{}"), roleKey
	case c >= '0' && c <= '9':
		return wordLen(rest, "."), roleNumber
	case letter(c) || c == '_' || c == '@':
		n := max(wordLen(rest, l.inWord), 1)
		w := rest[:n]
		if l.fold {
			w = strings.ToLower(w)
		}
		if x.words[w] {
			return n, roleKeyword
		}
		return n, x.keyRole(rest, n, roleText)
	}
	return 1, roleText
}

// keyRole returns roleKey if the word of length n is a key, because a colon or an equals sign follows.
func (x *lexer) keyRole(s string, n int, other role) role {
	if x.lang.keySign == 0 {
		return other
	}
	if t := strings.TrimLeft(s[n:], " "); t != "" && t[0] == x.lang.keySign {
		return roleKey
	}
	return other
}

// open starts a string or a comment that can last for several lines.
func (x *lexer) open(s, first, last string, r role) (int, role) {
	end := stringEnd(s[len(first):], last, r == roleString)
	if end < 0 {
		x.until, x.role = last, r
		return len(s), r
	}
	return len(first) + end, r
}

// stringEnd returns the index after the end sign, or -1. A backslash hides the next character.
func stringEnd(s, end string, escapes bool) int {
	for i := 0; i < len(s); i++ {
		if escapes && s[i] == '\\' && end != "`" {
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

func diffRole(s string) role {
	switch {
	case strings.HasPrefix(s, "+++"), strings.HasPrefix(s, "---"), strings.HasPrefix(s, "diff "), strings.HasPrefix(s, "index "):
		return roleDim
	case s[0] == '+':
		return roleAdded
	case s[0] == '-':
		return roleRemoved
	case strings.HasPrefix(s, "@@"):
		return roleNumber
	}
	return roleText
}
