package shellparse

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fields collects the words from the expansion of a part of the line.
type fields struct {
	*frame
	s     *scope
	out   []word
	src   string // of the word that is being expanded
	whole bool   // no splitting: an assignment, a redirect, a here-string
	raw   bool   // with whole: patterns are not special

	buf     []byte
	quoted  []int // positions in buf of literal pattern characters
	glob    bool
	bracket bool // there was a [ without quotes
	dynamic bool
	number  bool // an unknown number is in buf
	single  bool // a pattern in buf represents one of its matches
	loose   bool // an expansion that is outside of quotes, or that may become several words
	any     bool // there is a word, even if it is empty
}

// words returns the words to which the arguments of a command expand.
func (f *frame) words(s *scope, args []*syntax.Word) []word {
	e := fields{frame: f, s: s, out: make([]word, 0, len(args))}
	for _, w := range args {
		if len(w.Parts) == 1 {
			if l, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(l.Value, `\*?[{~`) {
				e.out = append(e.out, word{text: l.Value, static: true})
				continue
			}
		}
		e.src = f.sourceOf(w)
		if !mayHaveBraces(w.Parts) {
			e.addParts(w.Parts)
			e.flush()
			continue
		}
		list, ok := expandBraces(w)
		if !ok {
			f.scan(s, w)
			e.out = append(e.out, word{text: e.src, open: true})
			continue
		}
		for _, parts := range list {
			e.addParts(parts)
			e.flush()
		}
		if f.stopped {
			break
		}
	}
	return e.out
}

// expandOne expands a word that always remains one word: the value of an assignment, the target of a
// redirect, or a here-string.
func (f *frame) expandOne(s *scope, w *syntax.Word, raw bool) word {
	if w == nil {
		return word{static: true}
	}
	e := fields{frame: f, s: s, src: f.sourceOf(w), whole: true, raw: raw, any: true}
	e.addParts(w.Parts)
	e.flush()
	return e.out[0]
}

// sourceOf returns the text of a node in the line.
func (f *frame) sourceOf(n syntax.Node) string { return f.between(n.Pos(), n.End()) }

func (f *frame) between(from, to syntax.Pos) string {
	a, b := min(int(from.Offset()), len(f.src)), min(int(to.Offset()), len(f.src))
	if a >= b {
		return ""
	}
	return f.src[a:b]
}

// flush ends a word.
func (e *fields) flush() {
	if !e.any && len(e.buf) == 0 && !e.dynamic {
		return
	}
	w := word{static: !e.dynamic}
	switch {
	case e.dynamic || len(e.buf) > MaxLine:
		w = word{text: e.src, open: e.loose}
	case e.number:
		w = word{text: e.src, shape: string(e.buf)}
		w.open = e.loose && !numeric(w.shape)
	case e.glob && !e.raw:
		w.glob, w.text, w.open = true, e.pattern(), !e.single
	default:
		w.text = string(e.buf)
	}
	e.spend(len(w.text) + 16)
	e.out = append(e.out, w)
	e.buf, e.quoted = e.buf[:0], e.quoted[:0]
	e.glob, e.bracket, e.dynamic, e.any, e.number, e.loose, e.single = false, false, false, false, false, false, false
}

// pattern returns the word, with a backslash before each pattern character that is literal.
func (e *fields) pattern() string {
	var b strings.Builder
	for i, c := range e.buf {
		if slices.Contains(e.quoted, i) {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// add adds literal characters.
func (e *fields) add(s string) {
	for i := range len(s) {
		if strings.IndexByte(`*?[]\`, s[i]) >= 0 && len(e.quoted) < 64 {
			e.quoted = append(e.quoted, len(e.buf)+i)
		}
	}
	e.buf = append(e.buf, s...)
	e.spend(len(s))
}

// addPatternByte adds a character that may be part of a pattern.
func (e *fields) addPatternByte(c byte) {
	switch c {
	case '*', '?':
		e.glob = true
	case '[':
		e.bracket = true
	case ']':
		e.glob = e.glob || e.bracket
	}
	e.buf = append(e.buf, c)
}

// addParts adds the parts of a word that are outside of quotes.
func (e *fields) addParts(parts []syntax.WordPart) {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			last := i == len(parts)-1
			if !last && i == 0 { // {~,x}/y leaves two literals
				next, ok := parts[1].(*syntax.Lit)
				last = ok && strings.HasPrefix(next.Value, "/")
			}
			e.addLiteral(p.Value, i == 0 && len(e.buf) == 0, last)
		case *syntax.SglQuoted:
			e.any = true
			if p.Dollar {
				e.add(unescapeANSI(p.Value))
			} else {
				e.add(p.Value)
			}
		case *syntax.DblQuoted:
			if !isAllParams(p) {
				e.any = true
			}
			e.addQuoted(p.Parts, false)
		default:
			e.addExpansion(p, false)
			e.loose = true
		}
		if e.stopped {
			return
		}
	}
}

// addQuoted adds the parts of a text in double quotes or of a here-document.
func (e *fields) addQuoted(parts []syntax.WordPart, document bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			e.add(unescapeQuoted(p.Value, document))
		case *syntax.SglQuoted: // in "${x:-'a'}" quotes are characters
			e.add("'" + p.Value + "'")
		case *syntax.DblQuoted:
			e.addQuoted(p.Parts, document)
		default:
			e.addExpansion(p, true)
			e.loose = e.loose || mayBeSeveralWords(p)
		}
	}
}

// isAllParams reports whether the text is exactly "$@", which may expand to no words at all.
func isAllParams(q *syntax.DblQuoted) bool {
	if len(q.Parts) != 1 {
		return false
	}
	p, ok := q.Parts[0].(*syntax.ParamExp)
	return ok && p.Param != nil && p.Param.Value == "@"
}

// addLiteral adds text outside of quotes.
func (e *fields) addLiteral(s string, first, last bool) {
	if first && s != "" {
		if s[0] == '~' && e.raw {
			s = e.tildes(s, last)
		} else if s[0] == '~' {
			s = e.tilde(s, last)
		} else if i := strings.IndexByte(s, '='); i > 0 && strings.IndexByte(s, '~') > i && syntax.ValidName(s[:i]) {
			e.buf = append(e.buf, s[:i+1]...)
			s = e.tildes(s[i+1:], last)
		}
	}
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			e.any = true
			e.add(s[i : i+1])
		case s[i] == '\\':
			e.add(`\`)
		default:
			e.addPatternByte(s[i])
		}
	}
	e.spend(len(s))
}

// tilde expands "~" at the start of s, and returns the rest of s, which is not added yet.
func (e *fields) tilde(s string, last bool) string {
	end := strings.IndexAny(s, "/:")
	if end < 0 || s[end] == ':' && !e.whole {
		if end = strings.IndexByte(s, '/'); end < 0 {
			end = len(s)
		}
	}
	name := s[1:end]
	if strings.IndexByte(name, '\\') >= 0 {
		return s
	}
	if end == len(s) && !last {
		e.dynamic = true // the rest is part of the name
		return ""
	}
	switch home := e.lookup(e.s, "HOME"); {
	case name == "" && home.known && home.text != "":
		e.add(home.text)
	case name == "+" && len(e.s.dirs) == 1:
		e.add(e.s.dirs[0])
	default:
		e.dynamic = true
	}
	e.any = true
	return s[end:]
}

// tildes expands "~" in the value of an assignment, or in a word that looks like an assignment. It
// expands it at the start and after each colon.
func (e *fields) tildes(s string, last bool) string {
	for s != "" {
		if s[0] == '~' {
			whole := e.whole
			e.whole = true
			s = e.tilde(s, last)
			e.whole = whole
		}
		i := strings.Index(s, ":~")
		if i < 0 || strings.IndexByte(s[:i], '\\') >= 0 {
			if i >= 0 {
				e.dynamic = true
			}
			return s
		}
		for _, c := range []byte(s[:i+1]) {
			e.addPatternByte(c)
		}
		s = s[i+1:]
	}
	return s
}

// addSplit adds a value that is not in quotes. A value with blanks becomes several words.
func (e *fields) addSplit(v string, glob bool) {
	if _, changed := e.s.vars["IFS"]; (changed || e.s.lost) && !e.whole && v != "" {
		e.dynamic = true
		return
	}
	e.spend(len(v))
	for i := range len(v) {
		c := v[i]
		switch {
		case !e.whole && !glob && (c == ' ' || c == '\t' || c == '\n'):
			e.flush()
		case e.whole:
			e.buf = append(e.buf, c)
		default:
			e.addPatternByte(c)
		}
	}
	e.glob = e.glob || glob
}
