package searchtext

import (
	"bytes"
	"iter"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Token is one word of a text, in lower case and without accents, and its position in bytes. Word
// is valid until the next token.
type Token struct {
	Word     []byte
	From, To int
}

// maxWord is the number of bytes of a Token's Word after which the rest of the word is ignored.
const maxWord = 128

// Tokens yields the words of a text.
func Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		var word []byte
		from := -1
		flush := func(to int) bool {
			if from < 0 {
				return true
			}
			t := Token{Word: word, From: from, To: to}
			from = -1
			if len(word) == 0 { // only accents
				return true
			}
			ok := yield(t)
			word = word[:0]
			return ok
		}
		for i := 0; i < len(text); {
			r, n := rune(text[i]), 1
			if r >= utf8.RuneSelf {
				r, n = utf8.DecodeRuneInString(text[i:])
			}
			kind := kindOf(r)
			if kind != wordChar && !flush(i) {
				return
			}
			if kind != separator {
				if from < 0 {
					from = i
				}
				if len(word) < maxWord {
					word = appendFolded(word, r)
				}
			}
			if i += n; kind == singleCharWord && !flush(i) {
				return
			}
		}
		flush(len(text))
	}
}

// The role of a character in words.
const (
	separator      = iota // not part of a word
	wordChar              // part of a word
	singleCharWord        // a word by itself
)

func kindOf(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return wordChar
		}
		return separator
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		if unicode.IsLetter(r) {
			return singleCharWord
		}
	}
	if r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) {
		return wordChar
	}
	return separator
}

// appendFolded adds a character in lower case and without accents.
func appendFolded(b []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(b, byte(r))
	}
	if isAccent(r) {
		return b
	}
	from := len(b)
	b = utf8.AppendRune(b, unicode.ToLower(unicode.ToUpper(r))) // maps the final sigma to sigma
	parts := norm.NFD.Properties(b[from:]).Decomposition()
	if _, n := utf8.DecodeRune(parts); n < len(parts) && !bytes.ContainsFunc(parts[n:], func(r rune) bool { return !isAccent(r) }) {
		b = append(b[:from], parts[:n]...)
	}
	return b
}

func isAccent(r rune) bool { return 0x300 <= r && r <= 0x36f }
