package pager

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/term"
)

const (
	reset = "\x1b[m"
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
)

// View returns height lines of at most width columns. The last one shows the position or the query.
// The cursor is in the query while it is typed; otherwise row is -1.
func (p *Pager) View(width, height int) (lines []string, row, col int) {
	width, height = max(width, 10), max(height, 2)
	if width != p.width || height-1 != p.height {
		a := p.anchor()
		if width != p.width {
			if a.ok {
				a.of = p.parts[a.part].all()
			}
			for _, s := range p.parts {
				s.made = false
			}
			p.found, p.stale = nil, true
		}
		p.width, p.height = width, height-1
		p.restore(a)
	}
	p.settle()
	for r := p.top; r < p.top+p.height; r++ {
		if r >= p.rows {
			lines = append(lines, "")
			continue
		}
		lines = append(lines, ansi.Truncate(p.row(p.at(r)), width, "…")+reset)
	}
	if p.box != nil {
		rows, r, c := p.box.View(width - 1)
		return append(lines, "/"+rows[r]), height - 1, c + 1
	}
	return append(lines, p.status()), -1, 0
}

// row returns a line as it is shown.
func (p *Pager) row(at place) string {
	s := p.parts[at.part]
	line := p.mark(s.line(at.line))
	if at.line >= s.head() {
		return line
	}
	sign, style := "▾ ", ""
	if s.folded {
		sign = "▸ "
	}
	if at.part == p.focus {
		style = bold
	}
	return style + sign + reset + style + line
}

// status returns the last line.
func (p *Pager) status() string {
	right := "all"
	if last := p.rows - p.height; last > 0 {
		right = fmt.Sprintf("%d%%", 100*p.top/last)
	}
	right = fmt.Sprintf(" line %d of %d  %s ", min(p.top+p.height, p.rows), p.rows, right)
	left := " " + oneLine(p.title)
	switch {
	case p.notice != "":
		left = " " + p.notice
	case p.query != "":
		left = " /" + oneLine(p.query) + "  " + p.keys.Label("page.next") + " next  " + p.keys.Label("page.previous") + " previous"
	default:
		for _, hint := range [][2]string{{"close", " close"}, {"find", " find"}, {"fold", " fold"}, {"foldAll", " fold all"}, {"editor", " editor"}} {
			hint := p.keys.Label("page."+hint[0]) + hint[1]
			if term.Width(left)+2+len(hint) < p.width-len(right) && (p.focus >= 0 || !strings.Contains(hint, "fold")) {
				left += "  " + hint
			}
		}
	}
	left = ansi.Truncate(left, max(0, p.width-len(right)), "…")
	line := left + strings.Repeat(" ", max(0, p.width-term.Width(left)-len(right))) + right
	return dim + reverse + ansi.Truncate(line, p.width, "") + reset
}

func oneLine(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(term.Escape(text), "\n", " "), "\t", " ")
}
