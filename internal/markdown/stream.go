// Package markdown turns the Markdown of a model into styled lines of a terminal while the text arrives.
//
//	text ──Write──► lines ──► blocks ──┬─ final ──Done──► printed once, into the scrollback
//	                                   └─ open ───Live──► redrawn until it is final
//
//	s := markdown.New(&markdown.Options{Style: markdown.ANSI16, Hyperlinks: true})
//	for delta := range deltas {
//		s.Write(delta)
//		print(s.Done(80))
//		redraw(s.Live(80))
//	}
//	print(s.Close(80))
//
// A block is final when no later text can change it. Only the open block is parsed again, so a token costs the same
// at the end of a long message as at its start. Every text is escaped: the only escape sequences in a line are
// colors and links of this package.
//
// It is not a complete CommonMark renderer: a link reference is text until its definition has come, definitions and
// footnotes are shown where they are, HTML is shown as it is written, and list items keep the empty lines of the source.
package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxLine is the number of bytes after which a line without an end is used in parts.
const maxLine = 4096

// Stream renders one message. It is for use by one goroutine at a time.
type Stream struct {
	blocks
	tail   []byte // the incomplete line
	inLine bool   // an earlier part of this line is used already
	closed bool

	live      []string // what Live returned, until the next Write or another width
	liveWidth int
}

// New returns an empty stream. Nil options mean no styles.
func New(o *Options) *Stream {
	options := Options{}
	if o != nil {
		options = *o
	}
	options.refs = map[string]string{}
	return &Stream{blocks: blocks{o: &options}}
}

// Write adds text. The parts can end anywhere, also inside a character.
func (s *Stream) Write(text string) {
	if s.closed {
		return
	}
	s.live = nil
	for text != "" {
		room := min(maxLine+1-len(s.tail), len(text)) // at least 1
		if i := strings.IndexByte(text[:room], '\n'); i >= 0 {
			s.tail = append(s.tail, text[:i]...)
			text = text[i+1:]
			s.use(string(bytes.TrimSuffix(s.tail, []byte("\r"))), false)
			s.tail = s.tail[:0]
			continue
		}
		s.tail = append(s.tail, text[:room]...)
		if text = text[room:]; len(s.tail) > maxLine {
			n := cut(s.tail)
			s.use(string(s.tail[:n]), true)
			s.tail = append(s.tail[:0], s.tail[n:]...)
		}
	}
}

// cut returns where to break a long line: after a space near its end, else between two characters.
func cut(b []byte) int {
	if i := bytes.LastIndexByte(b[maxLine*3/4:maxLine], ' '); i >= 0 {
		return maxLine*3/4 + i + 1
	}
	n := maxLine
	for n > maxLine-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

func (s *Stream) use(line string, more bool) {
	if s.inLine {
		s.rest(line)
	} else {
		s.line(line)
	}
	s.inLine = more
}

// Done returns the lines that have become final since the last call.
func (s *Stream) Done(width int) []string {
	var lines []string
	for i := range s.queue {
		lines = s.o.lay(lines, s.queue[i], width)
		s.queue[i] = block{}
	}
	s.queue = s.queue[:0]
	return lines
}

// Live returns the lines of the open block as they look now. They follow what Done returns.
// The caller must not change them.
func (s *Stream) Live(width int) []string {
	if s.live == nil || s.liveWidth != width {
		s.live, s.liveWidth = s.look(width), width
	}
	return s.live
}

func (s *Stream) look(width int) []string {
	p := s.clone()
	p.live = true
	tail := s.tail
	for n := 0; n < utf8.UTFMax && len(tail) > 0; n++ { // an incomplete character waits
		if r, size := utf8.DecodeLastRune(tail); r != utf8.RuneError || size != 1 {
			break
		}
		tail = tail[:len(tail)-1]
	}
	if line := strings.TrimSuffix(string(tail), "\r"); !p.waits(line) {
		if s.inLine {
			p.rest(line)
		} else {
			p.line(line)
		}
	}
	if p.leaf.kind == paragraph {
		text := string(p.leaf.text)
		if !strings.Contains(text, "\n") && strings.HasPrefix(text, "|") { // the head of a table
			aligns := make([]byte, len(cells(text)))
			p.leaf = leaf{kind: table, aligns: aligns, joined: p.leaf.joined}
			p.row(text)
		} else {
			p.leaf.unfinished = true
		}
	}
	p.closeLeaf()
	lines := []string{}
	for _, b := range p.queue {
		lines = s.o.lay(lines, b, width)
	}
	return lines
}

// waits reports whether the next character decides what an incomplete line is.
func (p *blocks) waits(line string) bool {
	t := strings.TrimLeft(line, " \t>")
	if p.leaf.kind == code {
		return t == "" || strings.Trim(t, string(p.leaf.fence)) == ""
	}
	if t == "" || strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
		return true
	}
	if p.leaf.kind == table && strings.Contains(t, "|") {
		return false
	}
	return strings.Trim(t, "#>*-+_=`~|:.() \t0123456789[]xX") == ""
}

// Close ends the message and returns its last lines.
func (s *Stream) Close(width int) []string {
	if !s.closed {
		s.closed, s.live = true, nil
		if len(s.tail) > 0 {
			s.use(strings.TrimSuffix(string(s.tail), "\r"), false)
		}
		s.popTo(0)
		s.tail = nil
	}
	return s.Done(width)
}
