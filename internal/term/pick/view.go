package pick

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/term"
)

const (
	compactRows = 8
	nextToList  = 90 // columns from which the preview is next to the list
	belowList   = 12 // rows from which the preview is below the list otherwise
	prompt      = "> "
)

// The styles of a row.
const (
	reset   = "\x1b[m"
	dim     = "\x1b[2m"
	bold    = "\x1b[1m"
	matched = "\x1b[36m"
	pointer = "\x1b[1;36m❯" + reset + " "
	margin  = "  "
)

// View returns at most height lines of at most width columns, and the position of the cursor, from
// 0. In the compact list, row is -1, because the cursor is in the input box.
func (p *Picker) View(width, height int) (lines []string, row, col int) {
	width, height = max(width, 10), max(height, 1)
	if p.compact {
		return p.list(width, min(height, compactRows, max(1, len(p.shown)))), -1, 0
	}
	lines, row, col = p.head(width, height)
	room := height - len(lines)
	it, ok := p.Selected()
	switch {
	case room <= 0:
	case ok && it.Preview != nil && width >= nextToList:
		left := width * 2 / 5
		list, pre := p.list(left, room), p.previewOf(it, width-left-2, room)
		for i := range max(len(list), len(pre)) {
			lines = append(lines, pad(at(list, i), left)+dim+"│"+reset+" "+at(pre, i))
		}
	case ok && it.Preview != nil && room >= belowList:
		n := min(max(3, room/2), len(p.items))
		list := p.list(width, n)
		for len(list) < n {
			list = append(list, "")
		}
		lines = append(append(lines, list...), dim+strings.Repeat("─", width)+reset)
		lines = append(lines, p.previewOf(it, width, height-len(lines))...)
	default:
		n := min(room, max(1, len(p.items)))
		lines = append(lines, p.list(width, n)...)
		for room -= n; len(lines) < height-room; { // the height does not change while the user types
			lines = append(lines, "")
		}
	}
	return lines, row, col
}

// head returns the title and the query.
func (p *Picker) head(width, height int) (lines []string, row, col int) {
	count := fmt.Sprintf("%d/%d", len(p.shown), len(p.items))
	if p.title != "" && height >= 3 {
		title := ansi.Truncate(oneLine(p.title), max(0, width-len(count)-1), "…")
		lines = append(lines, bold+pad(title, width-len(count))+reset+dim+count+reset)
	}
	rows, r, c := p.box.View(width - len(prompt))
	return append(lines, prompt+rows[r]), len(lines), len(prompt) + c
}

// list returns the visible rows of the list.
func (p *Picker) list(width, height int) (lines []string) {
	p.rows = height
	p.top = max(0, min(p.top, p.cursor, len(p.shown)-height), p.cursor-height+1)
	if len(p.shown) == 0 {
		return []string{dim + ansi.Truncate("  no matches", width, "…") + reset}
	}
	visible := p.shown[p.top:min(p.top+height, len(p.shown))]
	room := width - len(margin)
	column := 0 // of the texts that have details
	for _, i := range visible {
		if p.items[i].Detail != "" {
			column = min(max(column, term.Width(oneLine(p.items[i].Text))), room*3/5)
		}
	}
	for k, i := range visible {
		it, selected := &p.items[i], p.top+k == p.cursor
		line := margin
		if selected {
			line = pointer
		}
		if it.Detail == "" {
			line += p.text(it, &p.entries[i], room, selected)
		} else {
			line = pad(line+p.text(it, &p.entries[i], column, selected), width-room+column)
			line += "  " + dim + ansi.Truncate(oneLine(it.Detail), room-column-2, "…") + reset
		}
		lines = append(lines, line)
	}
	return lines
}

// cell is a cluster of an item's text.
type cell struct {
	show    string
	width   int
	matched bool
}

// text returns the text of an item with its matches marked. Of a path that is too wide, the end is
// shown, otherwise the start.
func (p *Picker) text(it *Item, e *entry, width int, selected bool) string {
	var cells []cell
	total, hits := 0, p.places(e)
	for rest := it.Text; rest != "" && len(it.Text)-len(rest) < maxText; {
		cluster, _ := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		at := len(it.Text) - len(rest)
		rest = rest[len(cluster):]
		for len(hits) > 0 && int(hits[0].end) <= at {
			hits = hits[1:]
		}
		c := cell{show: oneLine(cluster), matched: len(hits) > 0 && int(hits[0].at) < at+len(cluster)}
		c.width = term.Width(c.show)
		cells, total = append(cells, c), total+c.width
	}
	before, after := "", ""
	if total > width {
		if strings.Contains(it.Text, "/") && !strings.Contains(it.Text, " ") {
			for before = "…"; len(cells) > 0 && total > width-1; cells = cells[1:] {
				total -= cells[0].width
			}
		} else {
			for after = "…"; len(cells) > 0 && total > width-1; cells = cells[:len(cells)-1] {
				total -= cells[len(cells)-1].width
			}
		}
	}
	var b strings.Builder
	style := reset
	b.WriteString(before)
	for _, c := range cells {
		want := reset
		if selected {
			want += bold
		}
		if c.matched {
			want += matched
		}
		if want != style {
			b.WriteString(want)
		}
		style = want
		b.WriteString(c.show)
	}
	if style != reset {
		b.WriteString(reset)
	}
	return b.String() + after
}

// oneLine returns text of an item so that it is safe in a row.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(term.Escape(text), "\n", " "), "\t", " ")
}

// pad makes a styled line as wide as a column.
func pad(line string, width int) string {
	line = ansi.Truncate(line, width, "…")
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// preview is the preview that was made last.
type preview struct {
	value         string
	width, height int
	lines         []string
}

// previewOf returns the preview of an item. It is made again when the item or the size changes.
func (p *Picker) previewOf(it Item, width, height int) []string {
	if v := &p.preview; v.lines == nil || v.value != it.value() || v.width != width || v.height != height {
		lines := it.Preview(width, height)
		lines = lines[:min(len(lines), height)]
		*v = preview{value: it.value(), width: width, height: height, lines: make([]string, len(lines))}
		for i, l := range lines {
			v.lines[i] = ansi.Truncate(l, width, "…") + reset
		}
	}
	return p.preview.lines
}
