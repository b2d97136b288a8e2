package live

import (
	"strconv"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
)

// painter collects the bytes of one frame and follows the terminal's cursor. Positions are relative
// to the top row of the live block.
type painter struct {
	buf    []byte
	y, x   int // x is -1 if the column is not known
	width  int
	pen    uv.Style
	link   uv.Link
	nowrap bool // true if the terminal must not wrap, because a cell may pass the right edge
}

func (p *painter) write(s string) { p.buf = append(p.buf, s...) }

// csi writes a control sequence with one parameter; 1 is the default and is left out.
func (p *painter) csi(n int, final byte) {
	p.write("\x1b[")
	if n != 1 {
		p.buf = strconv.AppendInt(p.buf, int64(n), 10)
	}
	p.buf = append(p.buf, final)
}

// move puts the cursor on a cell of a row that exists.
func (p *painter) move(y, x int) {
	switch {
	case y < p.y:
		p.csi(p.y-y, 'A')
	case y > p.y && x == 0 && y-p.y < 4:
		p.write("\r" + strings.Repeat("\n", y-p.y))
		p.x = 0
	case y > p.y:
		p.csi(y-p.y, 'B')
	}
	switch d := x - p.x; {
	case x == p.x:
	case x == 0:
		p.write("\r")
	case p.x >= 0 && d < 0 && d > -4:
		p.write(strings.Repeat("\b", -d))
	case p.x >= 0 && d > 0 && d < 10:
		p.csi(d, 'C')
	default:
		p.csi(x+1, 'G')
	}
	p.y, p.x = y, x
}

// newline adds rows below the last row. The terminal scrolls if there is no room.
func (p *painter) newline(n int) {
	p.reset()
	p.write("\r" + strings.Repeat("\n", n))
	p.y, p.x = p.y+n, 0
}

// cells writes the cells from..to of a row.
func (p *painter) cells(r row, from, to int) {
	for x := from; x < to; {
		c := r.cell(x)
		if c.Width == 0 { // never: spans start and end between clusters
			x++
			continue
		}
		if c.Style != p.pen {
			p.write(uv.StyleDiff(&p.pen, &c.Style))
			p.pen = c.Style
		}
		if c.Link != p.link {
			p.write("\x1b]8;" + c.Link.Params + ";" + c.Link.URL + "\x1b\\")
			p.link = c.Link
		}
		p.write(c.Content)
		x += c.Width
		p.x = x
		if ambiguous(c) {
			p.nowrap = true
			if x < p.width { // the next cell is where it should be, whatever width the terminal uses
				p.csi(x+1, 'G')
			}
		}
	}
	if p.width > 0 && p.x >= p.width {
		p.x, p.nowrap = -1, true
	}
}

// span writes a part of a row.
func (p *painter) span(r row, s span) {
	p.move(s.y, s.from)
	if s.clear {
		p.write("\x1b[K")
	}
	p.cells(r, s.from, s.to)
	p.reset()
	if s.erase && s.to < p.width {
		p.write("\x1b[K")
	}
}

// reset ends styles and links. Erasing would otherwise use the background color.
func (p *painter) reset() {
	if !p.pen.IsZero() {
		p.write("\x1b[m")
		p.pen = uv.Style{}
	}
	if p.link != (uv.Link{}) {
		p.write("\x1b]8;;\x1b\\")
		p.link = uv.Link{}
	}
}

// eraseBelow erases from the start of a row to the end of the screen. It does not erase from the top
// left corner, because tmux then copies the screen to its scrollback.
func (p *painter) eraseBelow() { p.write("\x1b[K\x1b[C\x1b[J\r") }
