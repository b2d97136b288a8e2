package markdown

import "strings"

// fenceLen returns the length of the fence that s starts, or 0.
func fenceLen(s string) int {
	if s[0] != '`' && s[0] != '~' {
		return 0
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 || s[0] == '`' && strings.Contains(s[n:], "`") {
		return 0
	}
	return n
}

func (p *blocks) openFence(s string, in int) {
	n := fenceLen(s)
	language, _, _ := strings.Cut(strings.TrimSpace(s[n:]), " ")
	p.leaf = leaf{kind: code, fence: s[0], fenceLen: n, fenceIndent: in, lexer: newLexer(language)}
	label := newSpan(strings.Trim(language, "{}."), attr{role: roleDim})
	if p.o.Style == Plain {
		label.text = s[:n] + label.text
	}
	if label.text != "" {
		p.emit(block{kind: code, spans: []span{label}})
		p.leaf.joined = true
	}
}

// codeLine uses a line between fences.
func (p *blocks) codeLine(s string) {
	if in, t := indentation(s); in < 4 && t != "" && t[0] == p.leaf.fence {
		if rest := strings.TrimLeft(t, t[:1]); len(t)-len(rest) >= p.leaf.fenceLen && strings.TrimSpace(rest) == "" {
			p.closeLeaf()
			return
		}
	}
	p.emitCode(strip(s, p.leaf.fenceIndent))
}

func (p *blocks) emitCode(s string) {
	p.emit(block{kind: code, spans: p.leaf.lexer.line(s), joined: p.leaf.joined})
	p.leaf.joined = true
}

// indentedLine uses a line of a code block without a fence.
func (p *blocks) indentedLine(s string) {
	if p.leaf.kind != indented {
		p.closeLeaf()
		p.leaf = leaf{kind: indented}
	}
	for ; p.leaf.blanks > 0; p.leaf.blanks-- {
		p.emitCode("")
	}
	if p.o.Style == Plain { // the indentation is the only sign of code
		s = "    " + s
	}
	p.emitCode(s)
}
