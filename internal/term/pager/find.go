package pager

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/term"
)

// maxQuery is the longest text that is searched for, in bytes.
const maxQuery = 200

// search sets the text that is searched for and marked. An upper case letter makes the case matter.
func (p *Pager) search(query string) {
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	p.query, p.exact = query, term.Fold(query) != query
	p.found = nil
}

// find goes to the next or the previous line with the text. It also looks into folded sections, and
// unfolds the one in which it finds the text. It continues at the other end of the page.
func (p *Pager) find(step int) {
	if p.query == "" || p.rows == 0 {
		return
	}
	from, included := p.at(p.top), true
	if step < 0 {
		from = p.at(min(p.top+p.height, p.rows) - 1)
	}
	if f := p.found; f != nil && f.part < len(p.parts) {
		if row := p.parts[f.part].start + f.line; row >= p.top && row < p.top+p.height {
			from, included = *f, false
		}
	}
	i, line := from.part, from.line
	if !included {
		line += step
	}
	for n := 0; n <= len(p.parts); n++ {
		s := p.parts[i]
		p.make(s)
		for ; line >= 0 && line < s.all(); line += step {
			if p.matches(s.line(line)) {
				p.goTo(place{i, line})
				return
			}
		}
		i += step
		if i < 0 || i == len(p.parts) {
			i = (i + len(p.parts)) % len(p.parts)
			p.notice = "search wrapped"
		}
		line = 0
		if step < 0 {
			p.make(p.parts[i])
			line = p.parts[i].all() - 1
		}
	}
	p.notice = "not found: " + oneLine(p.query)
}

func (p *Pager) goTo(to place) {
	s := p.parts[to.part]
	if s.folded && to.line >= s.head() {
		s.folded, p.stale = false, true
		p.count()
	}
	p.found = &to
	p.show(s.start + to.line)
	if s.Title != "" && s.start >= p.top && s.start < p.top+p.height {
		p.focus = to.part
	}
}

// plain returns the text of a line in the form that is compared with the query.
func (p *Pager) plain(line string) string {
	if strings.IndexByte(line, 0x1b) >= 0 {
		line = ansi.Strip(line)
	}
	if !p.exact {
		line = term.Fold(line)
	}
	return line
}

func (p *Pager) matches(line string) bool { return strings.Contains(p.plain(line), p.query) }

// The styles of the text that was found.
const (
	reverse   = "\x1b[7m"
	noReverse = "\x1b[27m"
)

// mark marks the text of the query in a styled line.
func (p *Pager) mark(line string) string {
	if p.query == "" {
		return line
	}
	plain := p.plain(line)
	next := strings.Index(plain, p.query)
	if next < 0 {
		return line
	}
	var b strings.Builder
	end, at, state := -1, 0, byte(0) // the end of the current match; the place in plain
	for rest := line; rest != ""; {
		if end >= 0 && at >= end {
			b.WriteString(noReverse)
			end = -1
		}
		if end < 0 && next >= 0 && at >= next {
			b.WriteString(reverse)
			end, next = next+len(p.query), after(plain, p.query, next+len(p.query))
		}
		seq, _, n, to := ansi.DecodeSequence(rest, state, nil)
		state, rest = to, rest[n:]
		b.WriteString(seq)
		if seq[0] != 0x1b {
			at += n
		} else if end >= 0 { // the sequence may have ended the mark
			b.WriteString(reverse)
		}
	}
	if end >= 0 {
		b.WriteString(noReverse)
	}
	return b.String()
}

// after returns the index of text in s from an index on, or -1.
func after(s, text string, from int) int {
	if from > len(s) {
		return -1
	}
	if i := strings.Index(s[from:], text); i >= 0 {
		return from + i
	}
	return -1
}
