package shellparse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Canonical writes words as one line that bash parses back to the same words. The words are
// separated by single spaces, are quoted only if necessary, and are always quoted in the same way.
func Canonical(words ...string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		quote(&b, w, i == 0)
	}
	return b.String()
}

// lineOf returns the canonical line of words. A word that is not static is kept as written.
func lineOf(words []word, source string) string {
	n := len(words) - 1
	same := true
	for i, w := range words {
		n += len(w.text)
		same = same && w.static && !w.glob && isUnquoted(w.text, i == 0)
	}
	if same && n == len(source) {
		rest, ok := source, true
		for i, w := range words {
			if i > 0 {
				rest, ok = strings.CutPrefix(rest, " ")
			}
			if ok {
				rest, ok = strings.CutPrefix(rest, w.text)
			}
			if !ok {
				break
			}
		}
		if ok {
			return source
		}
	}
	var b strings.Builder
	b.Grow(n + 8)
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if w.static && !w.glob {
			quote(&b, w.text, i == 0)
		} else {
			b.WriteString(canonicalWord(w, i == 0))
		}
	}
	return b.String()
}

// canonicalWord returns a word in the form in which it appears in a line: a pattern keeps its special
// characters.
func canonicalWord(w word, first bool) string {
	if !w.static {
		return w.text
	}
	if !w.glob {
		var b strings.Builder
		quote(&b, w.text, first)
		return b.String()
	}
	var b strings.Builder
	for i := 0; i < len(w.text); i++ {
		switch c := w.text[i]; {
		case c == '\\' && i+1 < len(w.text):
			b.WriteByte(c)
			i++
			b.WriteByte(w.text[i])
		case plainByte[c] || strings.IndexByte("*?[]^!=", c) >= 0 || c >= 0x80:
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`$'\n'`)
		default:
			b.Write([]byte{'\\', c})
		}
	}
	return b.String()
}

// quote writes a word so that bash parses it back unchanged: without quotes if possible, as $'…' if
// it contains characters that a terminal would not show, otherwise as '…'.
func quote(b *strings.Builder, w string, first bool) {
	switch {
	case isUnquoted(w, first):
		b.WriteString(w)
	case isPrintable(w):
		b.WriteByte('\'')
		for {
			before, after, found := strings.Cut(w, "'")
			b.WriteString(before)
			if !found {
				break
			}
			b.WriteString(`'\''`)
			w = after
		}
		b.WriteByte('\'')
	default:
		b.WriteString("$'")
		for len(w) > 0 {
			r, size := utf8.DecodeRuneInString(w)
			switch {
			case r == '\'' || r == '\\':
				b.WriteByte('\\')
				b.WriteByte(w[0])
			case r == '\n':
				b.WriteString(`\n`)
			case r == '\t':
				b.WriteString(`\t`)
			case r == utf8.RuneError || !unicode.IsPrint(r):
				for i := range size {
					const digits = "01234567"
					c := w[i]
					b.Write([]byte{'\\', digits[c>>6], digits[c>>3&7], digits[c&7]})
				}
			default:
				b.WriteString(w[:size])
			}
			w = w[size:]
		}
		b.WriteByte('\'')
	}
}

// isUnquoted reports whether a word has the same meaning without quotes.
func isUnquoted(w string, first bool) bool {
	if w == "" {
		return false
	}
	switch w {
	case "{}", "!":
		return !first
	case "[", "]":
		return true
	}
	for i := 0; i < len(w); i++ {
		c := w[i]
		switch {
		case plainByte[c]:
		case c == '^' || c == '#' && i > 0:
		case c == '=':
			if first {
				return false // the word could be an assignment
			}
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(w[i:])
			if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
				return false
			}
			i += size - 1
		default:
			return false
		}
	}
	return !first || !syntax.IsKeyword(w)
}

func isPrintable(w string) bool {
	for _, r := range w {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// isReserved reports whether the parser treats a word at the start of a command as something other than a
// simple command.
func isReserved(w string) bool {
	switch w {
	case "declare", "export", "local", "readonly", "typeset", "nameref", "let":
		return true
	}
	return syntax.IsKeyword(w)
}

// plainByte marks the bytes that have no special meaning anywhere in a word.
var plainByte = func() (t [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-" {
		t[c] = true
	}
	return t
}()
