package edit

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// View returns the text as rows of at most width columns and the position of the cursor, from 0.
// Long lines are wrapped between grapheme clusters. The last column stays free for the cursor, so
// that a full row does not move it. The rows contain no control characters and no colors. While the
// user searches in the history, the rows are the match and a last row with the search.
func (e *Editor) View(width int) (rows []string, row, col int) {
	e.width = width
	if e.search != nil {
		match := layOut(e.search.match, width).rows
		prompt := layOut(split(e.search.prompt()), width)
		end := prompt.at[len(prompt.at)-1]
		return append(match, prompt.rows...), len(match) + end.row, end.col
	}
	if len(e.text) == 0 {
		return layOut(e.placeholder, width).rows, 0, 0
	}
	l := layOut(e.text, width)
	return l.rows, l.at[e.cursor].row, l.at[e.cursor].col
}

type position struct{ row, col int }

type layout struct {
	rows []string
	at   []position // of each cell, and of the end
}

// minWidth is the smallest width that text is wrapped for. It has room for a wide character and the
// cursor.
const minWidth = 3

func layOut(cells []cell, width int) layout {
	width = max(width, minWidth) - 1
	l := layout{at: make([]position, 0, len(cells)+1)}
	var b strings.Builder
	col := 0
	wrap := func() {
		l.rows = append(l.rows, b.String())
		b.Reset()
		col = 0
	}
	for _, c := range cells {
		if col > 0 && col+c.width > width {
			wrap()
		}
		l.at = append(l.at, position{len(l.rows), col})
		switch {
		case c.isNewline():
			wrap()
		case c.width <= width:
			b.WriteString(c.show)
			col += c.width
		default: // a label, or an escaped character, that is wider than the box
			for show := c.show; show != ""; {
				part, n := ansi.FirstGraphemeCluster(show, ansi.GraphemeWidth)
				if col > 0 && col+n > width {
					wrap()
				}
				b.WriteString(part)
				col += n
				show = show[len(part):]
			}
		}
	}
	l.at = append(l.at, position{len(l.rows), col})
	wrap()
	return l
}

// vertical moves the cursor up (-1) or down (+1) by a row, or moves in the history at the first and
// the last row. The cursor returns to its column after shorter rows.
func (e *Editor) vertical(step int) {
	l := layOut(e.text, e.width)
	from := l.at[e.cursor]
	goal := e.goal
	if goal < 0 {
		goal = from.col
	}
	for row := from.row + step; row >= 0 && row < len(l.rows); row += step {
		best := -1
		start, _ := slices.BinarySearchFunc(l.at, row, func(p position, row int) int { return p.row - row })
		for i := start; i < len(l.at) && l.at[i].row == row && (best < 0 || l.at[i].col <= goal); i++ {
			best = i
		}
		if best >= 0 { // otherwise the row is the rest of a wide label
			e.cursor, e.goal = best, goal
			return
		}
	}
	e.recall(-step)
}
