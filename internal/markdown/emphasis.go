package markdown

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// look is what the signs around a piece of text say.
type look struct {
	bold, italic, strike, code bool
	link                       int // index in links + 1
}

type link struct {
	url   string
	image bool
}

// piece is a run of text, or of signs that can open or close something. Signs that stay unused are text.
type piece struct {
	text       string
	look       look
	sign       byte // * _ ~ [ or 0
	n, length  int  // unused signs, and all
	opens, end bool
	both       bool // opens and end, before any is used
	image      bool
	at         int // where a bracket is in the source
}

func (p *piece) String() string {
	if p.sign != 0 && p.sign != '[' {
		return p.text[:p.n]
	}
	return p.text
}

// inlineParser reads the inline signs as CommonMark says: a list of pieces, where a closing sign looks back for
// the sign that opens.
type inlineParser struct {
	s      string
	i      int
	live   bool
	pieces []piece
	links  []link
	refs   map[string]string // addresses by label
}

func (p *inlineParser) push(text string) {
	if text != "" {
		p.pieces = append(p.pieces, piece{text: text})
	}
}

func (p *inlineParser) parse() {
	start := 0
	for p.i < len(p.s) {
		n := strings.IndexAny(p.s[p.i:], "\\`*_~[]!<&\n")
		if n < 0 {
			break
		}
		p.i += n
		from, count := p.i, len(p.pieces)
		p.push(p.s[start:from])
		if p.special() {
			start = p.i
			continue
		}
		p.pieces = p.pieces[:count] // the sign is text
		p.i = max(p.i, from+1)
	}
	p.push(p.s[start:])
	p.emphasis(0)
	if p.live {
		p.closeOpen()
	}
}

// special uses the sign at p.i. It reports false if the sign is text; then it has changed nothing.
func (p *inlineParser) special() bool {
	s := p.s[p.i:]
	switch s[0] {
	case '\\':
		if len(s) > 1 && s[1] == '\n' {
			p.pieces, p.i = append(p.pieces, piece{text: "\n"}), p.i+2
			return true
		}
		if len(s) > 1 && isPunct(s[1]) {
			p.push(s[1:2])
			p.i += 2
			return true
		}
	case '\n':
		text := " "
		if n := len(p.pieces); n > 0 && p.pieces[n-1].sign == 0 && !p.pieces[n-1].look.code {
			last := &p.pieces[n-1]
			if strings.HasSuffix(last.text, "  ") {
				text = "\n"
			}
			last.text = strings.TrimRight(last.text, " ")
		}
		p.push(text)
		p.i++
		return true
	case '`':
		return p.codeSpan(s)
	case '*', '_', '~':
		n := runLen(s)
		p.pieces = append(p.pieces, p.run(s, n))
		p.i += n
		return true
	case '!', '[':
		n := 1
		if s[0] == '!' {
			if n = 2; !strings.HasPrefix(s, "![") {
				return false
			}
		} else if p.live && strings.HasPrefix(s, "[^") { // perhaps a footnote
			return false
		}
		p.pieces = append(p.pieces, piece{text: s[:n], sign: '[', opens: true, image: n == 2, at: p.i + n - 1})
		p.i += n
		return true
	case ']':
		return p.closeLink(s)
	case '<':
		if p.autoLink(s) {
			return true
		}
		n := tagLen(s)
		p.push(s[:n])
		p.i += n
		return n > 0
	case '&':
		if end := strings.IndexByte(s[:min(len(s), 40)], ';'); end > 0 {
			if text := html.UnescapeString(s[:end+1]); !strings.HasSuffix(text, ";") || text == ";" {
				p.push(text)
				p.i += end + 1
				return true
			}
		}
	}
	return false
}

func (p *inlineParser) codeSpan(s string) bool {
	n := runLen(s)
	end := codeEnd(s[n:], n)
	if end < 0 {
		if !p.live {
			p.i += n
			return false
		}
		end = len(s) - n
		p.i -= n // there is no sign at the end
	}
	code := strings.ReplaceAll(s[n:n+end], "\n", " ")
	if strings.HasPrefix(code, " ") && strings.HasSuffix(code, " ") && strings.Trim(code, " ") != "" {
		code = code[1 : len(code)-1]
	}
	p.pieces = append(p.pieces, piece{text: code, look: look{code: true}})
	p.i += n + end + n
	return true
}

// run returns n signs of emphasis, and whether they can open and close it.
func (p *inlineParser) run(s string, n int) piece {
	before, after := ' ', ' '
	if p.i > 0 {
		before, _ = utf8.DecodeLastRuneInString(p.s[:p.i])
	}
	if n < len(s) {
		after, _ = utf8.DecodeRuneInString(s[n:])
	}
	left := !unicode.IsSpace(after) && (!sign(after) || unicode.IsSpace(before) || sign(before))
	right := !unicode.IsSpace(before) && (!sign(before) || unicode.IsSpace(after) || sign(after))
	d := piece{text: s[:n], sign: s[0], n: n, length: n, opens: left, end: right}
	switch {
	case s[0] == '_':
		d.opens = left && (!right || sign(before))
		d.end = right && (!left || sign(after))
	case s[0] == '~' && n != 2:
		d.opens, d.end = false, false
	}
	d.both = d.opens && d.end
	return d
}

// emphasis pairs the signs of the pieces from bottom on.
func (p *inlineParser) emphasis(bottom int) {
	for c := bottom; c < len(p.pieces); c++ {
		end := &p.pieces[c]
		for end.end && end.n > 0 {
			o := c - 1
			for ; o >= bottom; o-- {
				open := &p.pieces[o]
				if open.sign == end.sign && open.opens && open.n > 0 &&
					!((open.both || end.both) && (open.length+end.length)%3 == 0 && (open.length%3 != 0 || end.length%3 != 0)) {
					break
				}
			}
			if o < bottom {
				end.end = false
				break
			}
			n := min(p.pieces[o].n, end.n, 2)
			p.mark(o+1, c, end.sign, n)
			p.pieces[o].n -= n
			end.n -= n
			for i := o + 1; i < c; i++ {
				p.pieces[i].opens = p.pieces[i].opens && p.pieces[i].sign == '['
			}
		}
	}
	for i := bottom; i < len(p.pieces) && bottom > 0; i++ { // signs in a link stay in it
		if p.pieces[i].sign != '[' {
			p.pieces[i].opens, p.pieces[i].end = false, false
		}
	}
}

// mark gives n signs of emphasis to the pieces from first up to end.
func (p *inlineParser) mark(first, end int, sign byte, n int) {
	for i := first; i < end; i++ {
		switch l := &p.pieces[i].look; {
		case sign == '~':
			l.strike = true
		case n == 2:
			l.bold = true
		default:
			l.italic = true
		}
	}
}

// closeOpen closes at the end what is open.
func (p *inlineParser) closeOpen() {
	for i := len(p.pieces) - 1; i >= 0; i-- {
		d := &p.pieces[i]
		for d.opens && d.sign != '[' && d.n > 0 {
			n := min(d.n, 2)
			d.n -= n
			p.mark(i+1, len(p.pieces), d.sign, n)
		}
	}
	for i := len(p.pieces) - 1; i >= 0; i-- {
		if d := &p.pieces[i]; d.sign == '[' && d.opens && i+1 < len(p.pieces) {
			if wordBefore(p.s[:d.at]) {
				continue // an index
			}
			p.makeLink(i, "")
			return
		}
	}
}

// unescape resolves backslash escapes and entities.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	p := inlineParser{s: s}
	for p.i < len(s) {
		if c := s[p.i]; c != '\\' && c != '&' || !p.special() {
			p.push(s[p.i : p.i+1])
			p.i++
		}
	}
	var b strings.Builder
	for i := range p.pieces {
		b.WriteString(p.pieces[i].text)
	}
	return b.String()
}

func runLen(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// codeEnd returns where a run of exactly n backquotes starts, or -1.
func codeEnd(s string, n int) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			m := runLen(s[i:])
			if m == n {
				return i
			}
			i += m - 1
		}
	}
	return -1
}

func isPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

func sign(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

func wordBefore(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
