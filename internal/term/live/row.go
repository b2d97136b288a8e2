package live

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// tabWidth is the distance of tab stops in drawn rows.
const tabWidth = 8

// row is one row of the terminal. A wide cluster takes several cells: the first holds its text, the
// others are zero. Blank cells at the end are left out.
type row struct {
	text  string // the styled text from which the cells were read
	cells []uv.Cell
	used  int // the cells that were written since the row was erased from its start
}

// parseRow reads styled text into cells, at most width of them; 0 means no limit. It keeps text, SGR
// and OSC 8. It drops every other control sequence, so that only this package moves the cursor.
func parseRow(text string, width int, colors colorprofile.Profile) row {
	r := row{text: text, cells: make([]uv.Cell, 0, len(text))}
	p := ansi.GetParser()
	defer ansi.PutParser(p)
	var style, shown uv.Style // shown has only the colors of the terminal
	var link uv.Link
	var state byte
	for rest := text; rest != ""; {
		seq, w, n, next := ansi.DecodeSequence(rest, state, p)
		// The decoder returns an ASCII character without the combining marks that follow it.
		if n == 1 && seq[0] > 0x1f && seq[0] < 0x7f && len(rest) > 1 && rest[1] >= 0xc0 {
			seq, w = ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
			n = len(seq)
		}
		switch {
		case w > 0 && hasControl(seq), w == 0 && seq[0] >= 0xc0 && hasControl(seq): // such as U+009B, which some terminals obey
		case w > 0:
			if width > 0 && len(r.cells)+w > width {
				rest = ""
				continue
			}
			r.cells = append(r.cells, uv.Cell{Content: seq, Width: w, Style: shown, Link: link})
			for range w - 1 {
				r.cells = append(r.cells, uv.Cell{})
			}
		case seq == "\t":
			for again := true; again && (width == 0 || len(r.cells) < width); again = len(r.cells)%tabWidth != 0 {
				r.cells = append(r.cells, uv.Cell{Content: " ", Width: 1, Style: shown})
			}
		case ansi.HasCsiPrefix(seq) && p.Command() == 'm':
			uv.ReadStyle(p.Params(), &style)
			shown = uv.ConvertStyle(style, colors)
		case ansi.HasOscPrefix(seq) && p.Command() == 8:
			readLink(p.Data(), &link)
		case seq[0] >= 0xc0: // a combining mark after a control sequence
			for i := len(r.cells) - 1; i >= 0; i-- {
				if r.cells[i].Width > 0 {
					r.cells[i].Content += seq
					break
				}
			}
		}
		state, rest = next, rest[n:]
	}
	for len(r.cells) > 0 && r.cells[len(r.cells)-1].Equal(&uv.EmptyCell) {
		r.cells = r.cells[:len(r.cells)-1]
	}
	return r
}

// readLink reads an OSC 8 sequence. A link with a control character is dropped, because it could end
// the sequence early.
func readLink(data []byte, link *uv.Link) {
	uv.ReadLink(data, link)
	if hasControl(link.URL + link.Params) {
		*link = uv.Link{}
	}
}

// hasControl reports whether text has a control character or is not UTF-8.
func hasControl(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 })
}

// ambiguous reports whether terminals disagree about the width of a cell.
func ambiguous(c *uv.Cell) bool {
	return len(c.Content) > 1 && ansi.WcWidth.StringWidth(c.Content) != c.Width
}

// cell returns the cell in column x; cells after the end are blank.
func (r row) cell(x int) *uv.Cell {
	if x < len(r.cells) {
		return &r.cells[x]
	}
	return &uv.EmptyCell
}

// span is a part of a row that must be written. It ends at to. The row is erased first if clear is
// set; the rest of the row is erased if erase is set.
type span struct {
	y, from, to  int
	clear, erase bool
}

// maxGap is the number of unchanged cells that are written again, because a cursor movement over
// them takes as many bytes.
const maxGap = 4

// maxErased is the number of cells that may be erased at the end of a row. tmux counts erased cells
// when it wraps rows for a new width, unless the row was erased from its start.
const maxErased = 8

// diffRows returns the spans that turn old into fresh, a row at y.
func diffRows(y int, old row, fresh *row) (spans []span) {
	fresh.used = max(old.used, len(fresh.cells))
	if fresh.used-len(fresh.cells) > maxErased && old.text != fresh.text {
		fresh.used = len(fresh.cells)
		return []span{{y: y, to: len(fresh.cells), clear: true}}
	}
	for x := 0; x < len(fresh.cells); x += max(1, fresh.cells[x].Width) {
		c := &fresh.cells[x]
		if old.cell(x).Equal(c) {
			continue
		}
		if n := len(spans); n > 0 && x-spans[n-1].to <= maxGap {
			spans[n-1].to = x + c.Width
		} else {
			spans = append(spans, span{y: y, from: x, to: x + c.Width})
		}
	}
	if len(old.cells) <= len(fresh.cells) {
		return spans
	}
	if n := len(spans); n == 0 || spans[n-1].to < len(fresh.cells) {
		spans = append(spans, span{y: y, from: len(fresh.cells), to: len(fresh.cells)})
	}
	spans[len(spans)-1].erase = true
	return spans
}
