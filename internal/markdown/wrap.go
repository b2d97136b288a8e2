package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// grapheme returns the first grapheme cluster of s and its width in columns.
func grapheme(s string) (string, int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], 1
	}
	return ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
}

func width(s string) int {
	n := 0
	for s != "" {
		g, w := grapheme(s)
		n, s = n+w, s[len(g):]
	}
	return n
}

func spansWidth(line []span) int {
	n := 0
	for _, s := range line {
		n += width(s.text)
	}
	return n
}

// add appends text to a line; neighbors with the same look become one span.
func add(line []span, text string, a attr) []span {
	if n := len(line); n > 0 && line[n-1].attr == a {
		line[n-1].text += text
		return line
	}
	return append(line, span{text, a})
}

// wrapper breaks text into lines of at most limit columns.
type wrapper struct {
	limit       int
	lines       [][]span
	line, word  []span
	lineW, wide int  // widths of line and word
	space       bool // a space belongs between line and word
	spaceAttr   attr
}

// wrap breaks spans between words. It breaks before and after wide characters, as East Asian text has no
// spaces, and inside a word only if the word is longer than a line.
func wrap(spans []span, limit int) [][]span {
	w := &wrapper{limit: max(limit, 2)}
	wasWide := false
	for _, s := range spans {
		for rest := s.text; rest != ""; {
			if n := plainRun(rest, w.limit-w.wide); n > 1 && !wasWide { // most text
				w.word = add(w.word, rest[:n], s.attr)
				w.wide, rest = w.wide+n, rest[n:]
				continue
			}
			g, n := grapheme(rest)
			rest = rest[len(g):]
			switch {
			case g == "\n":
				w.flush()
				w.newline()
				continue
			case g == " " || g == "\t":
				w.flush()
				w.space, w.spaceAttr, wasWide = true, s.attr, false
				continue
			case (n == 2 || wasWide) && !strings.Contains("、。，．：；！？」』）】》〉’”,.:;!?)]}", g):
				w.flush()
			case w.wide+n > w.limit:
				w.flush()
			}
			w.word = add(w.word, g, s.attr)
			w.wide += n
			wasWide = n == 2
		}
	}
	w.flush()
	if len(w.line) > 0 || len(w.lines) == 0 {
		w.newline()
	}
	return w.lines
}

// plainRun returns how many ASCII letters and signs at the start of s stand for themselves, at most limit.
func plainRun(s string, limit int) int {
	for i := range len(s) {
		if s[i] <= ' ' {
			return i
		}
		if s[i] >= utf8.RuneSelf {
			return max(i-1, 0) // this character can combine with the last letter
		}
		if i >= limit {
			return limit
		}
	}
	return len(s)
}

func (w *wrapper) flush() {
	if len(w.word) == 0 {
		return
	}
	gap := 0
	if w.space && w.lineW > 0 {
		gap = 1
	}
	if w.lineW+gap+w.wide > w.limit && w.lineW > 0 {
		w.newline()
		gap = 0
	}
	if gap == 1 {
		a := w.spaceAttr
		if a != w.word[0].attr { // a space between two looks has none, so no underline hangs over
			a = attr{}
		}
		w.line = add(w.line, " ", a)
	}
	for _, s := range w.word {
		w.line = add(w.line, s.text, s.attr)
	}
	w.lineW += gap + w.wide
	w.word, w.wide, w.space = w.word[:0], 0, false
}

func (w *wrapper) newline() {
	w.lines = append(w.lines, w.line)
	w.line, w.lineW, w.space = nil, 0, false
}

// continued marks the rows of a code line after its first.
const continued = "↪ "

// fold breaks a line of code where the line is full, so that no character is lost, and marks what follows. Tabs
// become spaces up to the next multiple of 4.
func fold(spans []span, limit int, marked bool) [][]span {
	limit = max(limit, 4)
	var lines [][]span
	var line []span
	col := 0
	mark := func() {
		line, col = []span{{continued, attr{role: roleDim}}}, 2
	}
	if marked {
		mark()
	}
	for _, s := range spans {
		for rest := s.text; rest != ""; {
			g, n := grapheme(rest)
			rest = rest[len(g):]
			if g == "\t" {
				n = 4 - col%4
				g = strings.Repeat(" ", n)
			}
			if col+n > limit {
				lines = append(lines, line)
				mark()
			}
			line = add(line, g, s.attr)
			col += n
		}
	}
	return append(lines, line)
}
