package markdown

import "strings"

// makeLink makes a link of the pieces after the bracket at o.
func (p *inlineParser) makeLink(o int, url string) {
	p.links = append(p.links, link{url, p.pieces[o].image})
	if len(p.pieces) == o+1 && p.pieces[o].image {
		p.push(url) // an image without a text
		p.links[len(p.links)-1].url = ""
	}
	p.pieces[o].text, p.pieces[o].opens = "", false
	for i := o + 1; i < len(p.pieces); i++ {
		if l := &p.pieces[i].look; l.link == 0 { // an address in the label keeps its own link
			l.link = len(p.links)
		}
	}
}

// closeLink uses a closing bracket and the address after it.
func (p *inlineParser) closeLink(s string) bool {
	o := len(p.pieces) - 1
	for o >= 0 && (p.pieces[o].sign != '[' || !p.pieces[o].opens) {
		o--
	}
	if o < 0 {
		return false
	}
	url, n := destination(s[1:])
	index := o > 0 && wordBefore(p.pieces[o-1].String())
	coming := n == 0 && p.live && (s == "]" && !index || strings.HasPrefix(s, "](") && !strings.Contains(s, ")"))
	if coming {
		n = len(s) - 1
	}
	if n == 0 && !coming {
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

// destination returns the address at the start of s, such as (http://x "title"), and its length.
func destination(s string) (string, int) {
	if !strings.HasPrefix(s, "(") {
		return "", 0
	}
	i := 1 + len(s[1:]) - len(strings.TrimLeft(s[1:], " \n"))
	start, url := i, ""
	if strings.HasPrefix(s[i:], "<") {
		end := strings.IndexAny(s[i+1:], ">\n")
		if end < 0 || s[i+1+end] != '>' {
			return "", 0
		}
		url, i = s[i+1:i+1+end], i+end+2
	} else {
		depth := 0
	loop:
		for ; i < len(s); i++ {
			switch c := s[i]; {
			case c == '\\' && i+1 < len(s) && isPunct(s[i+1]):
				i++
			case c <= ' ', c == ')' && depth == 0:
				break loop
			case c == '(':
				depth++
			case c == ')':
				depth--
			}
		}
		i = min(i, len(s))
		url = s[start:i]
	}
	rest := strings.TrimLeft(s[i:], " \n")
	if rest != "" && len(rest) < len(s)-i && strings.IndexByte(`"'(`, rest[0]) >= 0 {
		last := rest[:1]
		if last == "(" {
			last = ")"
		}
		end := stringEnd(rest[1:], last, true)
		if end < 0 {
			return "", 0
		}
		rest = strings.TrimLeft(rest[1+end:], " \n")
	}
	if !strings.HasPrefix(rest, ")") {
		return "", 0
	}
	return unescape(url), len(s) - len(rest) + 1
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
