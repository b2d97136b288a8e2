package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes text from outside the program safe for a terminal. Control characters, invisible
// characters and characters that change the writing direction are written as escapes such as \x1b
// or \u202e. Newlines, tabs and the joiners of some scripts and emoji are kept.
func Escape(s string) string { return escapeControls(s, false) }

// EscapeStrict is [Escape] for text that a user must judge: it keeps no invisible character.
func EscapeStrict(s string) string { return escapeControls(s, true) }

func escapeControls(s string, strict bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return isControl(r, strict) || r == utf8.RuneError }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n") && !strict:
			// dropped, because the newline follows
		case !isControl(r, strict):
			b.WriteString(s[i : i+n])
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// isControl reports whether r controls a terminal or is invisible.
func isControl(r rune, strict bool) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u200c', '\u200d':
		return strict
	case '\u2028', '\u2029', '\u115f', '\u1160', '\u3164', '\uffa0': // separators and blank fillers
		return true
	case ' ':
		return false
	}
	if r < 0x20 || r >= 0x7f && r < 0xa0 {
		return true
	}
	if r < 0xa0 {
		return false
	}
	return unicode.Is(unicode.Cf, r) || strict && unicode.Is(unicode.Zs, r)
}

// EscapeJSON writes characters that could control a terminal as JSON escapes. The escapes mean the
// same, because in JSON such characters occur only in strings.
func EscapeJSON(s string) []byte {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case r == '\n' || !isControl(r, false):
			b = utf8.AppendRune(b, r)
		case r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			hi, lo := surrogates(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		}
	}
	return b
}

func surrogates(r rune) (hi, lo rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}
