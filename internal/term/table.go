package term

import (
	"slices"
	"strings"
)

// Table prints rows in columns; the first row is the heading. Cells are cut at 60 characters. If
// the rows still do not fit the terminal, elastic columns are cut further, the widest one first.
func (p *Printer) Table(rows [][]string, elastic ...int) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range row {
			row[i] = Truncate(row[i], 60)
			widths[i] = max(widths[i], Width(row[i]))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for over := total - p.Columns(); p.TTY && over > 0; over-- {
		widest := slices.MaxFunc(elastic, func(a, b int) int { return widths[a] - widths[b] })
		if widths[widest] <= 12 {
			break
		}
		widths[widest]--
	}
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			if i == len(row)-1 {
				b.WriteString(cell)
				continue
			}
			b.WriteString(Column(cell, widths[i]))
		}
		line := strings.TrimRight(b.String(), " ")
		if n == 0 {
			line = p.Dim(line)
		}
		p.Line("%s", line)
	}
}

// PrintIndented prints text after a head of the given width. On a terminal the text is wrapped
// between words, and further lines are indented. The text starts on the line below the head if the
// head leaves too little space.
func (p *Printer) PrintIndented(head string, width int, text string, style func(string) string) {
	const indent = 7
	if !p.TTY {
		p.Line("%s", strings.TrimRight(head+text, " "))
		return
	}
	lines := wrap(text, p.Columns()-width, p.Columns()-indent)
	p.Line("%s", strings.TrimRight(head+style(lines[0]), " "))
	for _, l := range lines[1:] {
		p.Line("%s%s", strings.Repeat(" ", indent), style(l))
	}
}

// wrap breaks text between words into lines. The first line has at most first characters, the
// others at most other characters, unless a word is longer. It returns at least one line.
func wrap(text string, first, other int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			room := other
			if len(lines) == 0 {
				room = first
			}
			switch n := Width(word); {
			case line == "" && (n <= room || len(lines) > 0):
				line = word
			case line != "" && Width(line)+1+n <= room:
				line += " " + word
			default:
				lines = append(lines, line)
				line = word
			}
		}
		lines = append(lines, line)
	}
	return lines
}
