package markdown

import "strings"

// lay appends the lines of a block.
func (o *Options) lay(lines []string, b block, limit int) []string {
	if limit <= 0 {
		limit = 80
	}
	limit = max(limit, 8)
	first, rest := o.prefix(b.path, limit, true), o.prefix(b.path, limit, false)
	if b.blank {
		lines = append(lines, o.draw(trim(o.prefix(b.path[:b.common], limit, false))))
	}
	room := limit - max(spansWidth(first), spansWidth(rest))
	var body [][]span
	switch b.kind {
	case code:
		marked := len(b.spans) > 0 && b.spans[0].text == continued
		if marked {
			b.spans = b.spans[1:]
		}
		body = fold(b.spans, room, marked)
	case table:
		body = o.layTable(b, room)
	case rule:
		sign := "─"
		if o.Style == Plain {
			sign = "-"
		}
		body = [][]span{{{strings.Repeat(sign, min(room, 40)), attr{role: roleDim}}}}
	default:
		body = wrap(b.spans, room)
	}
	prefix := first
	for _, line := range body {
		lines = append(lines, o.draw(trim(append(prefix[:len(prefix):len(prefix)], line...))))
		prefix = rest
	}
	return lines
}

// prefix returns what stands before the lines of a block in these containers.
func (o *Options) prefix(path []container, limit int, first bool) []span {
	var line []span
	room := limit*2/3 - 2
	for _, c := range path {
		s := span{"│ ", attr{role: roleDim}}
		switch {
		case c.list != 0 && first && !c.shown:
			s = span{c.marker, attr{role: roleDim}}
		case c.list != 0:
			s = span{strings.Repeat(" ", width(c.marker)), attr{}}
		case o.Style == Plain:
			s = span{"> ", attr{}}
		}
		if room -= width(s.text); room < 0 { // the text matters more than its depth
			break
		}
		line = append(line, s)
	}
	return line
}

// trim removes spaces at the end of a line.
func trim(line []span) []span {
	for len(line) > 0 {
		last := &line[len(line)-1]
		t := strings.TrimRight(last.text, " ")
		if t != "" {
			if t != last.text {
				line = append(line[:len(line)-1:len(line)-1], span{t, last.attr})
			}
			return line
		}
		line = line[:len(line)-1]
	}
	return line
}
