package diff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// painter collects the lines of a diff.
type painter struct {
	o      *Options
	digits int // of the line numbers; 0 for none
	width  int
	lines  []string
}

// full reports whether there is no room for another line.
func (p *painter) full() bool { return p.o.Limit > 0 && len(p.lines) >= p.o.Limit }

// remark adds a line that is not part of a file.
func (p *painter) remark(r row) {
	text := r.text
	if r.sign == '@' {
		text = strings.Repeat(" ", max(p.digits-1, 0)) + "⋮"
	}
	for _, l := range paint.FoldText(text, p.width) {
		p.lines = append(p.lines, p.o.Palette.Paint(paint.Dim, l))
	}
}

func (p *painter) unified(rows []row) {
	room := p.width - p.gutter()
	fill := p.fill(rows, room)
	for _, r := range rows {
		if p.full() {
			return
		}
		if r.sign == '@' || r.sign == '!' {
			p.remark(r)
			continue
		}
		p.lines = append(p.lines, p.row(r, r.number(), room, fill)...)
	}
	if p.full() {
		p.lines = p.lines[:p.o.Limit]
	}
}

// sides draws the old lines on the left and the new ones on the right.
func (p *painter) sides(rows []row) {
	column := (p.width - 3) / 2
	room := column - p.gutter()
	middle := p.o.Palette.Paint(paint.Dim, " │ ")
	put := func(left, right []string) {
		for i := range max(len(left), len(right)) {
			l, r := "", ""
			if i < len(left) {
				l = left[i]
			}
			if i < len(right) {
				r = right[i]
			}
			p.lines = append(p.lines, strings.TrimRight(paint.Pad(l, column)+middle+r, " "))
		}
	}
	for i := 0; i < len(rows) && !p.full(); {
		switch r := rows[i]; r.sign {
		case ' ':
			put(p.row(r, r.old, room, 0), p.row(r, r.new, room, 0))
			i++
			continue
		case '@', '!':
			p.remark(r)
			i++
			continue
		}
		left, right := i, i
		for ; i < len(rows) && rows[i].sign == '-'; i++ {
			right++
		}
		added := right
		for ; i < len(rows) && rows[i].sign == '+'; i++ {
		}
		for left < added || right < i {
			switch {
			case left < added && rows[left].partner == right+1:
				put(p.row(rows[left], rows[left].old, room, room), p.row(rows[right], rows[right].new, room, room))
				left, right = left+1, right+1
			case left < added && rows[left].partner == 0:
				put(p.row(rows[left], rows[left].old, room, room), nil)
				left++
			default:
				put(nil, p.row(rows[right], rows[right].new, room, room))
				right++
			}
		}
	}
	if p.full() {
		p.lines = p.lines[:p.o.Limit]
	}
}

// gutter returns the width of what stands before the text of a line.
func (p *painter) gutter() int {
	if p.digits == 0 {
		return 2
	}
	return p.digits + 3
}

// fill returns the width to which changed lines are filled, so that they form a block: that of the longest one.
func (p *painter) fill(rows []row, room int) (n int) {
	for _, r := range rows {
		if r.sign == '+' || r.sign == '-' {
			n = max(n, paint.Width(r.text)+3*strings.Count(r.text, "\t"))
		}
	}
	return min(n, room)
}

func (r row) number() int {
	if r.sign == '-' {
		return r.old
	}
	return r.new
}

// row draws one line of the diff, folded to room columns.
func (p *painter) row(r row, number, room, fill int) (lines []string) {
	role, strong := paint.None, paint.None
	switch r.sign {
	case '+':
		role, strong = paint.Added, paint.AddedWord
	case '-':
		role, strong = paint.Removed, paint.RemovedWord
	}
	var spans []paint.Span
	at := 0
	for _, m := range r.marks {
		spans = append(spans, paint.Span{Text: r.text[at:m[0]], Role: role}, paint.Span{Text: r.text[m[0]:m[1]], Role: strong})
		at = m[1]
	}
	spans = append(spans, paint.Span{Text: r.text[at:], Role: role})
	c := p.o.Palette
	for i, part := range paint.Fold(spans, room) {
		head, sign := strings.Repeat(" ", p.digits), string(r.sign)+" "
		if number > 0 {
			head = fmt.Sprintf("%*s", p.digits, strconv.Itoa(number))
		}
		if i > 0 {
			head, sign = strings.Repeat(" ", p.digits), "  "
		}
		if p.digits > 0 {
			head += " "
		}
		text := append([]paint.Span{{Text: sign, Role: role}}, part...)
		if c.Filled(role) {
			used := 0
			for _, s := range part {
				used += paint.Width(s.Text)
			}
			text = append(text, paint.Span{Text: strings.Repeat(" ", max(0, fill-used)), Role: role})
		}
		line := c.Paint(paint.Dim, head) + c.Spans(text)
		if role == paint.None {
			line = strings.TrimRight(line, " ")
		}
		lines = append(lines, line)
	}
	return lines
}
