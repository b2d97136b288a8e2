package markdown

import (
	"slices"
	"strconv"
	"strings"
)

// A kind is the kind of a leaf block: one that contains text and no other blocks.
type kind uint8

const (
	none kind = iota
	paragraph
	heading
	rule
	code     // one line of a code block
	indented // a code block without a fence
	raw      // HTML
	table
	defined // the definition of a link
)

const (
	maxDepth = 10   // containers around a leaf; deeper signs are text
	maxLeaf  = 4096 // bytes of a paragraph that are parsed together, so that a token costs the same in any text
)

// A container is an open block quote or list item.
type container struct {
	id     int
	list   int // the same for the items of one list; 0 for a quote
	indent int // columns of an item before its text
	marker string
	shown  bool // the marker is in an emitted block
	delim  byte // the sign of the list
	number int  // of an item in a numbered list
	first  int  // leading spaces of the marker
}

// A block is a piece of output that will not change. Its text is parsed; it only needs to be laid out.
type block struct {
	kind   kind
	path   []container // the containers around it; an item that is not yet shown gets its marker
	blank  bool        // an empty line comes before it
	common int         // the number of containers that this empty line is in
	joined bool        // it continues the block before it
	spans  []span
	rows   [][][]span
	aligns []byte
}

// leaf is the open leaf block.
type leaf struct {
	kind   kind
	text   []byte
	joined bool

	unfinished bool // a paragraph whose end Live shows
	note       bool // a footnote

	fence       byte // of a code block
	fenceLen    int
	fenceIndent int
	blanks      int // empty lines in an indented code block, which belong to it if it continues
	lexer       lexer

	rows   [][][]span
	aligns []byte
	size   int
}

// blocks splits lines into blocks. It follows CommonMark, but every line is used once, and a block is emitted when
// no later line can change it. A link reference is therefore only resolved if its definition comes first; as it can
// come later, definitions are shown.
type blocks struct {
	o     *Options
	stack []container
	leaf  leaf
	queue []block

	started  bool
	sawBlank bool
	lastKind kind
	last     []container // the path of the last emitted block
	ids      int
	live     bool // the last line is incomplete
}

func (p *blocks) clone() *blocks {
	c := *p
	c.stack, c.queue = slices.Clone(p.stack), nil
	c.leaf.text, c.leaf.rows = slices.Clip(p.leaf.text), slices.Clip(p.leaf.rows)
	return &c
}

func (p *blocks) emit(b block) {
	b.path = slices.Clone(p.stack)
	if p.started && !b.joined {
		n := 0
		for n < len(p.stack) && n < len(p.last) && p.stack[n].id == p.last[n].id {
			n++
		}
		sameList := n < len(p.stack) && n < len(p.last) && p.stack[n].list != 0 && p.stack[n].list == p.last[n].list
		b.common, b.blank = n, p.sawBlank || n == 0 && !sameList
	}
	for i := range p.stack {
		p.stack[i].shown = true
	}
	p.started, p.sawBlank, p.last, p.lastKind = true, false, b.path, b.kind
	p.queue = append(p.queue, b)
}

// inline parses text that a line completes.
func (p *blocks) inline(s string, a attr) []span {
	return p.o.inline(s, a, p.live)
}

func (p *blocks) closeLeaf() {
	l := p.leaf
	p.leaf = leaf{}
	switch l.kind {
	case paragraph:
		if spans := p.o.inline(string(l.text), attr{}, l.unfinished); len(spans) > 0 {
			p.emit(block{kind: paragraph, spans: spans, joined: l.joined})
		}
	case table:
		p.emit(block{kind: table, rows: l.rows, aligns: l.aligns, joined: l.joined})
	case code:
		if p.o.Style == Plain {
			p.emit(block{kind: code, spans: []span{{strings.Repeat(string(l.fence), l.fenceLen), attr{}}}, joined: true})
		}
	}
}

// popTo closes all containers but the first n.
func (p *blocks) popTo(n int) {
	p.closeLeaf()
	for len(p.stack) > n {
		if top := p.stack[len(p.stack)-1]; top.list != 0 && !top.shown {
			p.emit(block{kind: paragraph})
		}
		p.stack = p.stack[:len(p.stack)-1]
	}
}

// rest adds the continuation of a line that is too long to be used at once.
func (p *blocks) rest(s string) {
	switch {
	case s == "":
	case p.leaf.kind == code || p.leaf.kind == indented || p.leaf.kind == raw:
		p.emit(block{kind: code, spans: append([]span{{continued, attr{role: roleDim}}}, p.leaf.lexer.line(s)...), joined: true})
	case p.leaf.kind == paragraph:
		p.extend(s, "")
	default:
		p.closeLeaf()
		p.leaf = leaf{kind: paragraph, joined: p.started}
		p.extend(s, "")
	}
}

// extend adds text to the open paragraph and emits the paragraph if it is long.
func (p *blocks) extend(s, separator string) {
	if len(p.leaf.text) > 0 {
		p.leaf.text = append(p.leaf.text, separator...)
	}
	if p.leaf.text = append(p.leaf.text, s...); len(p.leaf.text) >= maxLeaf && !p.live {
		p.closeLeaf()
		p.leaf = leaf{kind: paragraph, joined: true}
	}
}

// nested reports whether s starts a list in the item c, although CommonMark wants more spaces before it. Models
// often write two spaces below "1. ".
func nested(s string, in int, c container) bool {
	_, n := listMarker(s)
	return n > 0 && in >= c.first+2
}

func (p *blocks) inParagraph() bool { return p.leaf.kind == paragraph && len(p.leaf.text) > 0 }

// line uses one line, without its end.
func (p *blocks) line(s string) {
	matched := 0
	for ; matched < len(p.stack); matched++ {
		c := p.stack[matched]
		in, rest := indentation(s)
		if c.list != 0 {
			if rest != "" && in < c.indent && !nested(rest, in, c) {
				break
			}
			s = strip(s, c.indent)
		} else {
			if in > 3 || !strings.HasPrefix(rest, ">") {
				break
			}
			s = strip(rest[1:], 1)
		}
	}
	if p.leaf.kind == code {
		if matched == len(p.stack) {
			p.codeLine(s)
			return
		}
		p.popTo(matched)
	}
	lazy := matched < len(p.stack)
	for {
		in, rest := indentation(s)
		switch {
		case rest == "":
			p.blankLine(matched, lazy)
			return
		case p.leaf.kind == raw && !lazy:
			p.emitCode(s)
			return
		case in > 3:
			if p.inParagraph() { // indented text continues a paragraph
				p.textLine(rest, matched, lazy)
				return
			}
			if lazy {
				p.popTo(matched)
			}
			p.indentedLine(strip(s, 4))
			return
		case p.leafLine(rest, in, matched, lazy):
			return
		}
		next, ok := p.open(rest, in, matched, lazy)
		if !ok {
			p.textLine(rest, matched, lazy)
			return
		}
		s, matched, lazy = next, len(p.stack), false
	}
}

// open starts a block quote or a list item and returns the line after its sign.
func (p *blocks) open(s string, in, matched int, lazy bool) (string, bool) {
	if matched >= maxDepth {
		return "", false
	}
	if s[0] == '>' {
		p.popTo(matched)
		p.ids++
		p.stack = append(p.stack, container{id: p.ids})
		return strip(s[1:], 1), true
	}
	c, n := listMarker(s)
	if n == 0 {
		return "", false
	}
	rest := s[n:]
	gap, text := indentation(rest)
	if p.inParagraph() && !lazy && (text == "" || c.number > 1) {
		return "", false // such a line continues a paragraph: it can be a number that the text wrapped before
	}
	if text == "" || gap > 4 {
		gap = 1
	}
	c.indent, c.first = in+n+gap, in
	p.ids++
	c.id, c.list = p.ids, p.ids
	if matched < len(p.stack) && p.stack[matched].delim == c.delim {
		before := p.stack[matched]
		c.list = before.list
		if c.number > 0 || before.number > 0 {
			c.number = before.number + 1
		}
	}
	p.popTo(matched)
	rest = strip(rest, gap)
	c.marker = p.marker(c)
	if len(rest) > 3 && rest[0] == '[' && rest[2] == ']' && rest[3] == ' ' && strings.IndexByte(" xX", rest[1]) >= 0 {
		c.marker = strings.ToLower(rest[:4])
		rest = rest[4:]
		if c.delim == '.' || c.delim == ')' {
			c.marker = p.marker(c) + c.marker
		}
	}
	p.stack = append(p.stack, c)
	return rest, true
}

func (p *blocks) marker(c container) string {
	switch {
	case c.delim == '.' || c.delim == ')':
		return strconv.Itoa(c.number) + string(c.delim) + " "
	case p.o.Style == Plain:
		return "- "
	case len(p.stack)%2 == 1:
		return "◦ "
	}
	return "• "
}

func (p *blocks) blankLine(matched int, lazy bool) {
	if p.leaf.kind == indented && !lazy {
		p.leaf.blanks++
		return
	}
	if lazy { // an empty line ends a quote
		p.popTo(matched)
	}
	p.closeLeaf()
	if n := len(p.stack); n == 0 || p.stack[n-1].shown || p.stack[n-1].list == 0 { // else the item has no text yet
		p.sawBlank = true
	}
}

// leafLine starts or ends a block that one line decides. It reports whether it has used the line.
func (p *blocks) leafLine(s string, in, matched int, lazy bool) bool {
	if p.inParagraph() && !lazy {
		if t := strings.TrimRight(s, " \t"); strings.Trim(t, "=") == "" || strings.Trim(t, "-") == "" {
			level := 2
			if t[0] == '=' {
				level = 1
			}
			text := string(p.leaf.text)
			p.leaf = leaf{}
			p.heading(text, level)
			return true
		}
		if p.startTable(s) {
			return true
		}
	}
	if p.leaf.kind == table && !lazy && strings.Contains(s, "|") {
		p.row(s)
		return true
	}
	name, url, ok := definition(s)
	switch {
	case ok && !p.inParagraph():
		p.popTo(matched)
		if _, known := p.o.refs[name]; !known && !p.live && len(p.o.refs) < maxRefs {
			p.o.refs[name] = url
		}
		w := inlineWriter{o: p.o}
		w.text(s, attr{role: roleDim})
		p.emit(block{kind: defined, spans: w.spans, joined: p.lastKind == defined && !p.sawBlank})
	case note(s) && (!p.inParagraph() || p.leaf.note):
		next := leaf{kind: paragraph, note: true, joined: p.leaf.note}
		p.popTo(matched)
		p.leaf = next
		p.extend(s, "")
	case isRule(s):
		p.popTo(matched)
		p.emit(block{kind: rule})
	case headingLevel(s) > 0:
		n := headingLevel(s)
		p.popTo(matched)
		text := strings.Trim(s[n:], " \t")
		if t := strings.TrimRight(text, "#"); t == "" || strings.HasSuffix(t, " ") {
			text = strings.TrimRight(t, " \t")
		}
		p.heading(text, n)
	case fenceLen(s) > 0:
		p.popTo(matched)
		p.openFence(s, in)
	case !p.inParagraph() && startsHTML(s):
		p.popTo(matched)
		p.leaf = leaf{kind: raw, lexer: newLexer("html")}
		p.emitCode(strings.Repeat(" ", in) + s)
	default:
		return false
	}
	return true
}

func (p *blocks) heading(text string, level int) {
	a := attr{bold: true}
	if level <= 2 {
		a.role = roleHeading
	}
	spans := p.inline(text, a)
	if p.o.Style == Plain {
		spans = append([]span{{strings.Repeat("#", level) + " ", attr{}}}, spans...)
	}
	p.emit(block{kind: heading, spans: spans})
}

func (p *blocks) textLine(s string, matched int, lazy bool) {
	if p.inParagraph() { // also a lazy line
		p.extend(s, "\n")
		return
	}
	if lazy || p.leaf.kind != paragraph {
		p.popTo(matched)
		p.leaf = leaf{kind: paragraph}
	}
	p.extend(s, "")
}
