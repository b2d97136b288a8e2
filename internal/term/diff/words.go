package diff

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// maxMarked is the length of a line in bytes above which no words are marked.
const maxMarked = 2000

// changes returns the parts of two lines that differ, by words. It returns nothing if most of the lines differs:
// then the marks would only disturb.
func changes(old, fresh string) (inOld, inFresh [][2]int) {
	if len(old) > maxMarked || len(fresh) > maxMarked || old == fresh || !similarEnds(old, fresh) {
		return nil, nil
	}
	a, b := joinWords(old), joinWords(fresh)
	moved := 0 // how much later the same place is in b
	for _, e := range udiff.Lines(a, b) {
		inOld = mark(inOld, a, e.Start, e.End)
		inFresh = mark(inFresh, b, e.Start+moved, e.Start+moved+len(e.New))
		moved += len(e.New) - (e.End - e.Start)
	}
	if marked(inOld)*2 > len(strings.TrimSpace(old)) || marked(inFresh)*2 > len(strings.TrimSpace(fresh)) {
		return nil, nil
	}
	return inOld, inFresh
}

// similarEnds reports whether a third of the shorter line is at the start and at the end of both. Most lines that
// replace each other are so; the others are not worth a comparison by words, which is slow.
func similarEnds(old, fresh string) bool {
	old, fresh = strings.TrimSpace(old), strings.TrimSpace(fresh)
	short := min(len(old), len(fresh))
	first := 0
	for first < short && old[first] == fresh[first] {
		first++
	}
	last := 0
	for last < short-first && old[len(old)-1-last] == fresh[len(fresh)-1-last] {
		last++
	}
	return (first+last)*3 >= short
}

// joinWords writes each word on a line: a run of letters and digits, a run of spaces, or one sign.
func joinWords(s string) string {
	var b strings.Builder
	last := -1
	for rest := s; rest != ""; {
		c, _ := paint.Cluster(rest)
		class := 0
		switch r, _ := utf8.DecodeRuneInString(c); {
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			class = 1
		case r == ' ' || r == '\t':
			class = 2
		}
		if last >= 0 && (class != last || class == 0) {
			b.WriteByte('\n')
		}
		b.WriteString(c)
		last, rest = class, rest[len(c):]
	}
	return b.String() + "\n"
}

// mark adds a part of joined words to marks, as a part of the line itself.
func mark(marks [][2]int, joined string, from, to int) [][2]int {
	from -= strings.Count(joined[:from], "\n")
	to -= strings.Count(joined[:to], "\n")
	switch n := len(marks); {
	case from == to:
		return marks
	case n > 0 && marks[n-1][1] == from:
		marks[n-1][1] = to
		return marks
	}
	return append(marks, [2]int{from, to})
}

func marked(marks [][2]int) (n int) {
	for _, m := range marks {
		n += m[1] - m[0]
	}
	return n
}
