package markdown

import (
	"strings"
)

// inline returns the text of a paragraph with its looks. base is the look of the whole. If the text is not finished
// (live), what is open at its end is closed there: **bold is bold before its end comes.
func (o *Options) inline(source string, base attr, live bool) []span {
	source = strings.Trim(source, " \t\n")
	if live {
		source = strings.TrimRight(source, "*_~`\\! \t\n") // a sign at the end can be the first half of another
	}
	p := inlineParser{s: source, live: live, refs: o.refs}
	p.parse()
	w := inlineWriter{o: o}
	var text strings.Builder
	for i := 0; i < len(p.pieces); {
		first := p.pieces[i]
		text.Reset()
		for ; i < len(p.pieces) && p.pieces[i].look == first.look; i++ {
			text.WriteString(p.pieces[i].String())
		}
		w.piece(text.String(), first.look, base, p.links)
	}
	w.endLink()
	return w.spans
}

// inlineWriter makes spans of pieces.
type inlineWriter struct {
	o     *Options
	spans []span
	link  int // the open link, counted from 1
	url   string
	label string
	after attr
}

func (w *inlineWriter) add(s string, a attr) {
	if s != "" {
		sp := newSpan(s, a)
		w.spans = add(w.spans, sp.text, sp.attr)
	}
}

func (w *inlineWriter) piece(s string, l look, a attr, links []link) {
	a.bold, a.italic, a.strike = a.bold || l.bold, a.italic || l.italic, l.strike
	if w.link != l.link {
		w.endLink()
		if w.link = l.link; w.link > 0 {
			w.url, w.label, w.after = links[w.link-1].url, "", a
		}
	}
	if l.link > 0 {
		w.label += s
		if a.role = roleLink; w.o.Hyperlinks {
			a.link = safeURL(w.url)
		}
	}
	switch plain := w.o.Style == Plain; {
	case l.code && plain:
		s = "`" + s + "`"
	case l.code && l.link == 0:
		a.role = roleCode
	case l.strike && plain:
		s = "~~" + s + "~~"
	case !l.code && l.link == 0:
		w.text(s, a)
		return
	}
	w.add(s, a)
}

// endLink adds the address of the open link if it must be visible.
func (w *inlineWriter) endLink() {
	if w.link > 0 {
		w.link = 0
		w.add(w.o.address(w.url, w.label), w.after)
	}
}

// address returns what follows a link: its address if the terminal cannot carry it, or if the label looks like an
// address itself but is a different one.
func (o *Options) address(url, label string) string {
	same := label == url || "mailto:"+label == url || label == strings.TrimSuffix(url, "/")
	misleading := strings.Contains(label, "://") || strings.HasPrefix(label, "www.")
	if url == "" || same || o.Hyperlinks && safeURL(url) != "" && !misleading {
		return ""
	}
	return " (" + url + ")"
}

// text adds text and makes links of the web addresses in it.
func (w *inlineWriter) text(s string, a attr) {
	for from := 0; ; {
		i := strings.Index(s[from:], "http")
		if i < 0 {
			break
		}
		i += from
		if !strings.HasPrefix(s[i:], "https://") && !strings.HasPrefix(s[i:], "http://") {
			from = i + 4
			continue
		}
		end := i + strings.IndexAny(s[i:]+" ", " \t\n<>\"'`")
		url := strings.TrimRight(s[i:end], ".,:;!?)*_~")
		if strings.Contains(url, "(") && strings.HasPrefix(s[i+len(url):], ")") {
			url += ")"
		}
		w.add(s[:i], a)
		linked := a
		if linked.role = roleLink; w.o.Hyperlinks {
			linked.link = safeURL(url)
		}
		w.add(url, linked)
		s, from = s[i+len(url):], 0
	}
	w.add(s, a)
}
