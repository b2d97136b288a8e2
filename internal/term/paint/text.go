package paint

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/term"
)

// Line returns text from outside the program as one safe line.
func Line(s string) string { return term.Escape(strings.Join(strings.Fields(s), " ")) }

// Text returns the output of a program as safe text. The colors of the program are removed; of a line that was
// written several times, such as a progress bar, only the last state is kept.
func Text(s string) string {
	if strings.ContainsRune(s, '\x1b') {
		s = ansi.Strip(s)
	}
	if strings.ContainsRune(s, '\r') {
		lines := strings.Split(s, "\n")
		for i, l := range lines {
			l = strings.TrimRight(l, "\r")
			lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
		}
		s = strings.Join(lines, "\n")
	}
	return term.Escape(s)
}

// Width returns how many columns a line takes.
func Width(s string) int { return term.Width(s) }

// Clip cuts a line to n columns; it can have colors.
func Clip(s string, n int) string {
	if n < 1 {
		return ""
	}
	for room := n; room > 0; room-- { // the library that cuts measures a few characters differently
		if l := term.Clip(s, room); Width(l) <= n {
			return l
		}
	}
	return ""
}

// Pad adds spaces up to n columns.
func Pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-Width(s))) }

// Cluster returns the first character of s, as the user sees it, and its width.
func Cluster(s string) (string, int) {
	if s[0] < 0x80 && (len(s) == 1 || s[1] < 0x80) {
		return s[:1], 1
	}
	return ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
}

// tabStop is the distance of tab stops.
const tabStop = 4

// Fold breaks a line where it is full, so that nothing is lost. Tabs become spaces.
func Fold(line []Span, width int) [][]Span {
	width = max(width, 2)
	lines := [][]Span{nil}
	col := 0
	for _, s := range line {
		start := 0 // of the text that is not in lines yet
		put := func(to int) {
			if to > start {
				last := &lines[len(lines)-1]
				*last = append(*last, Span{s.Text[start:to], s.Role})
			}
			start = to
		}
		for i := 0; i < len(s.Text); {
			g, n := Cluster(s.Text[i:])
			text := g
			if g == "\t" {
				n = tabStop - col%tabStop
				text = strings.Repeat(" ", min(n, width))
			}
			if n == 0 && (i == start || col == 0) { // it joins the space before it, which can become wide
				n = 1
			}
			if col+n > width {
				put(i)
				lines = append(lines, nil)
				col = 0
			}
			if g == "\t" {
				put(i)
				last := &lines[len(lines)-1]
				*last = append(*last, Span{text, s.Role})
				start = i + 1
			}
			col += n
			i += len(g)
		}
		put(len(s.Text))
	}
	return lines
}

// FoldText is [Fold] for safe text of several lines in one color.
func FoldText(s string, width int) (lines []string) {
	for l := range strings.SplitSeq(s, "\n") {
		for _, part := range Fold([]Span{{Text: l}}, width) {
			t := ""
			for _, x := range part {
				t += x.Text
			}
			lines = append(lines, t)
		}
	}
	return lines
}

// Wrap makes text safe and breaks its lines between words; it keeps indentation and empty lines.
func Wrap(s string, width int) (lines []string) {
	width = max(width, 2)
	for l := range strings.SplitSeq(term.Escape(s), "\n") {
		lines = append(lines, wrapLine(strings.TrimRight(l, " \t\r"), width)...)
	}
	return lines
}

func wrapLine(s string, width int) (lines []string) {
	if folded := FoldText(s, width); len(folded) == 1 {
		return folded
	}
	text := strings.TrimLeft(s, " \t")
	indent := ""
	if n := len(s) - len(text); n > 0 {
		indent = strings.Repeat(" ", min(Width(FoldText(s[:n], width)[0]), width/2, width-2))
	}
	line, empty := indent, true
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == '\t' }) {
		switch {
		case empty && Width(line+word) <= width:
			line, empty = line+word, false
			continue
		case !empty && Width(line+" "+word) <= width:
			line += " " + word
			continue
		case !empty:
			lines = append(lines, line)
		}
		parts := FoldText(word, width-Width(indent))
		for _, p := range parts[:len(parts)-1] {
			lines = append(lines, indent+p)
		}
		line, empty = indent+parts[len(parts)-1], false
	}
	return append(lines, line)
}
