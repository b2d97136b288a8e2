package markdown

import (
	"html"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// inlineParser parses the text of one paragraph. It knows no other blocks, because the blocks are already split,
// and no HTML, because HTML is shown as text.
var inlineParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 100)),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(strikeParser{}, 500),
		))
})

// inline returns the text of a paragraph with its looks. base is the look of the whole.
func (o *Options) inline(source string, base attr) []span {
	w := &inlineWalker{o: o, source: []byte(source)}
	doc := inlineParser().Parse(text.NewReader(w.source))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if len(w.spans) > 0 {
			w.add("\n", base)
		}
		w.children(n, base)
	}
	return w.spans
}

type inlineWalker struct {
	o      *Options
	source []byte
	spans  []span
}

func (w *inlineWalker) add(s string, a attr) {
	if s != "" {
		sp := newSpan(s, a)
		w.spans = add(w.spans, sp.text, sp.attr)
	}
}

func (w *inlineWalker) children(n ast.Node, a attr) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c, a)
	}
}

func (w *inlineWalker) node(n ast.Node, a attr) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(unescape(string(n.Value(w.source))), a)
		switch {
		case n.HardLineBreak():
			w.add("\n", a)
		case n.SoftLineBreak():
			w.add(" ", a)
		}
	case *ast.String:
		w.text(string(n.Value), a)
	case *ast.Emphasis:
		if n.Level == 1 {
			a.italic = true
		} else {
			a.bold = true
		}
		w.children(n, a)
	case *strikeNode:
		if a.strike = true; w.o.Style == Plain {
			w.add("~~", a)
			defer w.add("~~", a)
		}
		w.children(n, a)
	case *ast.CodeSpan:
		var b strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				b.Write(t.Value(w.source))
			}
		}
		code := strings.ReplaceAll(b.String(), "\n", " ")
		if w.o.Style == Plain {
			code = "`" + code + "`"
		}
		if a.role != roleLink {
			a.role = roleCode
		}
		w.add(code, a)
	case *ast.AutoLink:
		url := string(n.URL(w.source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(url, "mailto:") {
			url = "mailto:" + url
		}
		w.link(url, a, func(a attr) { w.add(string(n.Label(w.source)), a) })
	case *ast.Link:
		w.link(unescape(string(n.Destination)), a, func(a attr) { w.children(n, a) })
	case *ast.Image:
		w.add("image: ", attr{role: roleDim})
		w.link(unescape(string(n.Destination)), a, func(a attr) { w.children(n, a) })
	default:
		w.children(n, a)
	}
}

// link adds the text of a link. The address follows if the terminal cannot carry it, and if the text looks like
// an address itself but is a different one.
func (w *inlineWalker) link(url string, a attr, label func(attr)) {
	first, outer := len(w.spans), a
	if a.role = roleLink; w.o.Hyperlinks {
		a.link = safeURL(url)
	}
	if first > 0 { // keeps the label apart from the text before it
		w.spans = append(w.spans, span{"", a})
		first = len(w.spans) - 1
	}
	label(a)
	shown := ""
	for _, s := range w.spans[first:] {
		shown += s.text
	}
	same := shown == url || "mailto:"+shown == url || shown == strings.TrimSuffix(url, "/")
	misleading := strings.Contains(shown, "://") || strings.HasPrefix(shown, "www.")
	if url != "" && !same && (a.link == "" || misleading) {
		w.add(" ("+url+")", outer)
	}
}

// text adds text and makes links of the web addresses in it.
func (w *inlineWalker) text(s string, a attr) {
	for a.link == "" && a.role != roleLink {
		i := strings.Index(s, "http")
		for i >= 0 && !strings.HasPrefix(s[i:], "https://") && !strings.HasPrefix(s[i:], "http://") {
			next := strings.Index(s[i+4:], "http")
			if next < 0 {
				i = -1
				break
			}
			i += 4 + next
		}
		if i < 0 {
			break
		}
		end := i + strings.IndexAny(s[i:]+" ", " \t\n<>\"'`")
		url := strings.TrimRight(s[i:end], ".,:;!?)*_~")
		if strings.Contains(url, "(") && strings.HasPrefix(s[i+len(url):], ")") {
			url += ")"
		}
		w.add(s[:i], a)
		w.link(url, a, func(a attr) { w.add(url, a) })
		s = s[i+len(url):]
	}
	w.add(s, a)
}

// unescape resolves backslash escapes and entities.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]) {
			i++
		} else if end := strings.IndexByte(s[i:min(len(s), i+40)], ';'); s[i] == '&' && end > 0 {
			b.WriteString(html.UnescapeString(s[i : i+end+1]))
			i += end
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// strikeParser parses ~~text~~. Goldmark has one too, in a package that compiles expressions at the start.
type strikeParser struct{}

type strikeNode struct{ ast.BaseInline }

var strikeKind = ast.NewNodeKind("Strike")

func (*strikeNode) Kind() ast.NodeKind                              { return strikeKind }
func (n *strikeNode) Dump(source []byte, level int)                 { ast.DumpHelper(n, source, level, nil, nil) }
func (strikeParser) Trigger() []byte                                { return []byte{'~'} }
func (strikeParser) IsDelimiter(b byte) bool                        { return b == '~' }
func (strikeParser) OnMatch(consumes int) ast.Node                  { return &strikeNode{} }
func (strikeParser) CanOpenCloser(open, end *parser.Delimiter) bool { return open.Char == end.Char }

func (p strikeParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 2, p)
	if node == nil || node.OriginalLength != 2 || before == '~' {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}
