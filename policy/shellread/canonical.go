package shellread

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

func canonical(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		quote(&b, w, i == 0)
	}
	return b.String()
}

// quote writes a word so that bash reads it back as it is: bare when it can be,
// in $” when it holds what a terminal would not show, else in ”.
func quote(b *strings.Builder, w string, first bool) {
	switch {
	case bare(w, first):
		b.WriteString(w)
	case showable(w):
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

// bare reports whether a word means itself without quotes.
func bare(w string, first bool) bool {
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
				return false // it might be an assignment
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

func showable(w string) bool {
	for _, r := range w {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// reserved reports whether the parser makes something else of a word than a
// simple command, where a command could start.
func reserved(w string) bool {
	switch w {
	case "declare", "export", "local", "readonly", "typeset", "nameref", "let":
		return true
	}
	return syntax.IsKeyword(w)
}

// plainByte has the bytes that mean themselves everywhere in a word.
var plainByte = func() (t [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-" {
		t[c] = true
	}
	return t
}()
