package searchtext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The approximate length of an excerpt in characters, and the part before the first mark.
const (
	excerptRunes = 200
	excerptLead  = 60
)

// Excerpt returns the text around the first of marks as one line of at most about 200 characters,
// and the positions of the marks in it. A cut is shown as "…"; white space and control characters
// become one space.
func Excerpt(text string, marks [][2]int) (string, [][2]int) {
	start := 0
	if len(marks) > 0 {
		start = excerptStart(text, marks[0][0])
	}
	var b strings.Builder
	if start > 0 {
		b.WriteString("…")
	}
	out := [][2]int{}
	open, n := -1, 0
	space := true // no space at the start
	for i, r := range text[start:] {
		at := start + i
		if open >= 0 && at >= marks[0][1] {
			out, marks, open = append(out, [2]int{open, b.Len()}), marks[1:], -1
		}
		if n >= excerptRunes {
			if len(out) == 0 { // a mark that is cut is returned only if there is no other
				out = closed(out, open, b.Len())
			}
			b.WriteString("…")
			return trimmed(b.String(), out)
		}
		if blank := unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError; blank {
			if !space {
				b.WriteByte(' ')
				n++
			}
			space = true
			continue
		}
		space = false
		if len(marks) > 0 && open < 0 && at >= marks[0][0] {
			open = b.Len()
		}
		b.WriteRune(r)
		n++
	}
	return trimmed(b.String(), closed(out, open, b.Len()))
}

// closed ends a mark that is still open at the end of the text.
func closed(marks [][2]int, open, end int) [][2]int {
	if open >= 0 {
		return append(marks, [2]int{open, end})
	}
	return marks
}

// trimmed removes trailing space, which is never part of a mark.
func trimmed(s string, marks [][2]int) (string, [][2]int) {
	return strings.TrimRight(s, " "), marks
}

// excerptStart returns the start of an excerpt whose first mark is at from: the start of a nearby
// word, if there is one.
func excerptStart(text string, from int) int {
	start := from
	for n := 0; start > 0 && n < excerptLead; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:start])
		start -= size
	}
	if start == 0 {
		return 0
	}
	if i := strings.IndexFunc(text[start:from], unicode.IsSpace); i >= 0 {
		return start + i
	}
	return start
}
