package live

// change writes the movements of whole rows that turn the terminal's rows into fresh, and returns
// the parts of rows that remain to be written. Rows are written from top to bottom, so that a row is
// complete before it leaves the screen.
func (s *Screen) change(p *painter, fresh []row) (spans []span) {
	old := s.rows
	same := 0 // rows at the end that did not change
	for same < min(len(old), len(fresh)) && old[len(old)-1-same].text == fresh[len(fresh)-1-same].text {
		same++
	}
	for y := range min(len(old), len(fresh)) - same {
		spans = append(spans, diffRows(y, old[y], &fresh[y])...)
	}
	write := func() { // what follows moves rows, so what is above must be on the terminal
		for _, sp := range spans {
			p.span(fresh[sp.y], sp)
		}
		spans = nil
	}
	for i := range same {
		fresh[len(fresh)-1-i].used = old[len(old)-1-i].used
	}
	n := len(fresh) - len(old)
	switch {
	case n == 0:
	case n > 0 && same > 0 && same+n <= s.height && worth(old[len(old)-same:]):
		write()
		p.move(len(old)-1, 0)
		p.newline(n) // makes room below
		p.move(len(old)-same, 0)
		p.csi(n, 'L')
		for y := len(old) - same; y < len(fresh)-same; y++ {
			spans = append(spans, diffRows(y, row{}, &fresh[y])...)
		}
	case n < 0 && same > 0 && same < len(fresh): // some terminals copy rows that are deleted at their top to the scrollback
		write()
		p.move(len(fresh)-same, 0)
		p.csi(-n, 'M')
	case n < 0:
		for y := len(fresh) - same; y < len(fresh); y++ {
			spans = append(spans, diffRows(y, old[y], &fresh[y])...)
		}
		write()
		p.move(len(fresh), 0)
		p.write("\x1b[J")
	default:
		for y := len(old) - same; y < len(old); y++ {
			spans = append(spans, diffRows(y, old[y], &fresh[y])...)
		}
		write()
		p.move(len(old)-1, 0)
		for y := len(old); y < len(fresh); y++ {
			p.newline(1)
			for _, sp := range diffRows(y, row{}, &fresh[y]) {
				p.span(fresh[y], sp)
			}
		}
	}
	return spans
}

// worth reports whether moving rows takes fewer bytes than writing them again.
func worth(rows []row) bool {
	n := 0
	for _, r := range rows {
		n += len(r.cells) + 2
	}
	return n > 16
}

// paintOne returns a frame that changes one part of one row. It brings the cursor back in the shorter
// of two ways: by movement, or by the terminal's saved cursor.
func (s *Screen) paintOne(p *painter, fresh []row, sp span, to Position, hide bool) []byte {
	p.span(fresh[sp.y], sp)
	if hide {
		return wrap(p, false)
	}
	drawn := len(p.buf)
	p.move(to.Y, to.X)
	if len(p.buf)-drawn > len("\x1b7\x1b8") {
		p.buf = append([]byte("\x1b7"), append(p.buf[:drawn:drawn], "\x1b8"...)...)
	}
	return wrap(p, false)
}

// wrap returns a frame. A frame of several parts is shown by the terminal as a whole (mode 2026). A
// frame that may pass the right edge is not wrapped by the terminal (mode 7).
func wrap(p *painter, whole bool) []byte {
	if len(p.buf) == 0 {
		return nil
	}
	start, end := "", ""
	if whole || p.nowrap {
		start, end = "\x1b[?7l", "\x1b[?7h"
	}
	if whole {
		start, end = "\x1b[?2026h"+start, end+"\x1b[?2026l"
	}
	return append([]byte(start), append(p.buf, end...)...)
}
