package term

import (
	"unicode"
	"unicode/utf8"
)

// Fold returns text in lower case, for searching. It has the length of s, so that places in it are
// places in s: a character whose lower case has another length stays.
func Fold(s string) string {
	changes := false
	for i := range len(s) {
		changes = changes || s[i] >= 'A' && s[i] <= 'Z' || s[i] >= utf8.RuneSelf
	}
	if !changes {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if lower := unicode.ToLower(r); n > 1 && utf8.RuneLen(lower) == n || n == 1 && r < utf8.RuneSelf {
			b = utf8.AppendRune(b, lower)
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}
