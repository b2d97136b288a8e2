package markdown

import "strings"

// The most bytes of a label, and the most definitions that a stream keeps.
const (
	maxLabel = 1000
	maxRefs  = 1000
)

// makeLink makes a link of the pieces after the bracket at o.
func (p *inlineParser) makeLink(o int, url string) {
	open := &p.pieces[o]
	open.text, open.opens = "", false
	if open.image {
		open.text = "image: "
		if len(p.pieces) == o+1 { // an image without a text
			p.push(url)
			url = ""
		}
	}
	p.links = append(p.links, link{url, p.pieces[o].image})
	for i := o; i < len(p.pieces); i++ {
		if l := &p.pieces[i].look; l.link == 0 || p.links[l.link-1].image { // an address in the label keeps its own link
			l.link = len(p.links)
		}
	}
}

// closeLink uses a closing bracket and the address or the label after it.
func (p *inlineParser) closeLink(s string) bool {
	o := len(p.pieces) - 1
	for o >= 0 && (p.pieces[o].sign != '[' || !p.pieces[o].opens) {
		o--
	}
	if o < 0 {
		return false
	}
	index := wordBefore(p.s[:p.pieces[o].at])
	url, n, ok := destination(s[1:])
	if !ok {
		url, n, ok = p.reference(p.pieces[o].at, s[1:])
		ok = ok && (n > 0 || !index) // text[1] keeps its brackets
	}
	if !ok && p.live {
		reference := s == "]" || len(p.refs) > 0 && strings.HasPrefix(s, "][") && !strings.Contains(s[1:], "]")
		_, title, _ := strings.Cut(s, " ")
		address := strings.HasPrefix(s, "](") && !strings.Contains(s, ")") && (title == "" || strings.IndexByte(`"'`, title[0]) >= 0)
		if reference && !index || address {
			n, ok = len(s)-1, true // the rest is coming
		}
	}
	if !ok {
		p.pieces[o].opens = false
		return false
	}
	p.emphasis(o + 1)
	p.makeLink(o, url)
	if !p.pieces[o].image { // no links in links
		for i := range o {
			if d := &p.pieces[i]; d.sign == '[' && !d.image {
				d.opens = false
			}
		}
	}
	p.i += 1 + n
	return true
}

// reference returns the address for a label that is defined: [text][label], [label][] or [label]. The text starts at
// p.s[at] and ends at p.i; after is what follows.
func (p *inlineParser) reference(at int, after string) (url string, n int, ok bool) {
	if len(p.refs) == 0 {
		return "", 0, false
	}
	text := p.s[at : p.i+1]
	name, n := label(after)
	if n == 0 || name == "" {
		m := 0
		if name, m = label(text); m != len(text) {
			return "", 0, false
		}
	}
	url, ok = p.refs[name]
	return url, n, ok
}

// label returns the label at the start of s, such as [a b], in the form in which labels are compared, and its length.
func label(s string) (string, int) {
	if !strings.HasPrefix(s, "[") {
		return "", 0
	}
	for i := 1; i < min(len(s), maxLabel); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			return "", 0
		case ']':
			return strings.ToLower(strings.Join(strings.Fields(s[1:i]), " ")), i + 1
		}
	}
	return "", 0
}

// definition returns the label and the address that a line such as [label]: http://x "title" defines.
func definition(s string) (name, url string, ok bool) {
	name, n := label(s)
	if name == "" || name[0] == '^' || !strings.HasPrefix(s[n:], ":") {
		return "", "", false
	}
	url, rest, ok := target(s[n+1:])
	return name, url, ok && rest == "" && strings.TrimSpace(s[n+1:]) != ""
}

// note reports whether s starts a footnote, such as [^1]: text.
func note(s string) bool {
	_, n := label(s)
	return n > 3 && s[1] == '^' && strings.HasPrefix(s[n:], ":")
}

// destination returns the address at the start of s, such as (http://x "title"), and its length.
func destination(s string) (url string, n int, ok bool) {
	if !strings.HasPrefix(s, "(") {
		return "", 0, false
	}
	url, rest, ok := target(s[1:])
	return url, len(s) - len(rest) + 1, ok && strings.HasPrefix(rest, ")")
}

// target splits s after an address and its title, if it has one.
func target(s string) (url, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t\n")
	i := 0
	if strings.HasPrefix(s, "<") {
		for i = 1; i < len(s) && s[i] != '>'; i++ {
			if s[i] == '\\' {
				i++
			} else if s[i] == '\n' || s[i] == '<' {
				break
			}
		}
		if i >= len(s) || s[i] != '>' {
			return "", "", false
		}
		url, s = s[1:i], s[i+1:]
	} else {
		for depth := 0; i < len(s) && s[i] > ' ' && (s[i] != ')' || depth > 0); i++ {
			switch s[i] {
			case '\\':
				if i+1 < len(s) && isPunct(s[i+1]) {
					i++
				}
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		url, s = s[:i], s[i:]
	}
	rest = strings.TrimLeft(s, " \t\n")
	if rest != "" && len(rest) < len(s) && strings.IndexByte(`"'(`, rest[0]) >= 0 {
		last := rest[:1]
		if last == "(" {
			last = ")"
		}
		end := stringEnd(rest[1:], last, true)
		if end < 0 {
			return "", "", false
		}
		rest = strings.TrimLeft(rest[1+end:], " \t\n")
	}
	return unescape(url), rest, true
}

func (p *inlineParser) autoLink(s string) bool {
	end := strings.IndexAny(s[1:], "<> \n\t")
	if end < 1 || s[1+end] != '>' {
		return false
	}
	label := s[1 : 1+end]
	url := label
	scheme, _, ok := strings.Cut(label, ":")
	switch {
	case ok && len(scheme) > 1 && len(scheme) <= 32 && wordLen(scheme, "+.-") == len(scheme) && scheme[0] > '9':
	case strings.Count(label, "@") == 1 && !strings.HasPrefix(label, "@") && !strings.HasSuffix(label, "@") && !strings.ContainsAny(label, `\/"`):
		url = "mailto:" + label
	default:
		return false
	}
	p.links = append(p.links, link{url: url})
	p.pieces = append(p.pieces, piece{text: label, look: look{link: len(p.links)}})
	p.i += end + 2
	return true
}

// tagLen returns the length of the HTML tag that s starts, or 0.
func tagLen(s string) int {
	t := strings.TrimPrefix(s[1:], "/")
	if t == "" || t[0] >= 0x80 || !letter(t[0]) {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '>':
			return i + 1
		case c == '"' || c == '\'':
			n := strings.IndexByte(s[i+1:], c)
			if n < 0 || s[i-1] != '=' {
				return 0
			}
			i += n + 1
		case strings.IndexByte(" \t\n=/_.:-", c) < 0 && wordLen(s[i:i+1], "") == 0:
			return 0
		}
	}
	return 0
}
