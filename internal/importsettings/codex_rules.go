package importsettings

import (
	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// codexRules translates Codex's *.rules files. They contain calls that deny, ask about or allow
// commands by their prefix. If a restriction cannot be translated, that is an error. An allow that
// cannot be translated is skipped.
//
//	prefix_rule(pattern = ["git", ["push", "fetch"]], decision = "prompt")
func (t *translation) codexRules(calls jsontree.Node) {
	for _, call := range calls.Members {
		switch call.Key {
		case "prefix_rule":
			t.prefixRule(&call.Value)
		case "network_rule":
			t.networkRule(&call.Value)
		case "host_executable":
			t.unsupported(call.Key, call.At, "rules match a program by the name that a command uses")
		default:
			t.refuse(call.At, "unknown function %s", call.Key)
		}
	}
}

// decisions maps the decisions of Codex's rules to effects.
var decisions = map[string]string{"allow": "allow", "prompt": "ask", "forbidden": "deny", "deny": "deny"}

// decision returns the list of rules that a call belongs in.
func (t *translation) decision(call *jsontree.Node) (string, bool) {
	word := "allow" // Codex allows a rule without a decision
	if d := call.Member("decision"); d != nil {
		if d.Kind != jsontree.Text {
			t.refuse(call.At, "the decision is %s, want a string", d.Show())
			return "", false
		}
		word = d.Text
	}
	effect, ok := decisions[word]
	if !ok {
		t.refuse(call.At, "unknown decision %q", word)
	}
	return effect, ok
}

func (t *translation) prefixRule(call *jsontree.Node) {
	effect, ok := t.decision(call)
	if !ok {
		return
	}
	lines, ok := prefixes(call.Member("pattern"))
	switch {
	case !ok && effect == "allow":
		t.unsupportedSilent("prefix_rule", call.At, "Bash rules cannot express the pattern: it has a word with a space, quote, backslash, parenthesis or *, or too many alternatives")
	case !ok:
		t.refuse(call.At, "prefix_rule: invalid pattern")
	}
	for _, line := range lines {
		t.add("permissions."+effect, "Bash("+line+":*)", call.At)
	}
}

func (t *translation) networkRule(call *jsontree.Node) {
	effect, ok := t.decision(call)
	if !ok {
		return
	}
	host := call.Member("host")
	switch {
	case effect == "allow":
		t.unsupported("network_rule", call.At, "allow hosts with sandbox.network.allowedDomains")
	case host == nil || host.Kind != jsontree.Text || host.Text == "":
		t.refuse(call.At, "network_rule: the host is missing")
	case effect == "deny":
		t.add("sandbox.network.deniedDomains", host.Text, call.At)
	default:
		t.add("permissions.ask", "WebFetch(domain:"+host.Text+")", call.At)
	}
}

// parseRules parses calls with named arguments that are strings and lists, which is the form of
// Codex's rules. Anything else in their language is an error, because it may be a restriction. The
// calls are the members of the node, by name, in order.
func parseRules(data []byte) (jsontree.Node, error) {
	p := rulesParser{data: data}
	root := jsontree.Node{Kind: jsontree.Object}
	for p.space(); p.at < len(data) && p.err == nil; p.space() {
		at := p.at
		name := p.name()
		call := p.call(at)
		root.Members = append(root.Members, jsontree.Member{Key: name, At: at, Value: call})
		for p.space(); p.at < len(data) && data[p.at] == ';'; p.space() {
			p.at++
		}
	}
	if p.err != nil {
		return root, p.err
	}
	return root, nil
}

type rulesParser struct {
	data []byte
	at   int
	err  *Error
}

func (p *rulesParser) fail(what string) {
	if p.err == nil {
		line, col := position(p.data, p.at)
		p.err = &Error{Line: line, Col: col, Detail: what, Hint: "write calls of prefix_rule with strings and lists"}
	}
	p.at = len(p.data)
}

// space skips spaces and comments.
func (p *rulesParser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		case '#':
			for p.at < len(p.data) && p.data[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

// accept consumes a character if it is the next one.
func (p *rulesParser) accept(c byte) bool {
	p.space()
	if p.at < len(p.data) && p.data[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *rulesParser) want(c byte) {
	if !p.accept(c) {
		p.fail("missing " + string(c))
	}
}

func (p *rulesParser) name() string {
	p.space()
	from := p.at
	for p.at < len(p.data) && (p.data[p.at] == '_' || p.data[p.at] >= 'a' && p.data[p.at] <= 'z') {
		p.at++
	}
	if from == p.at {
		p.fail("missing name")
		return ""
	}
	return string(p.data[from:p.at])
}

// call parses the arguments of a call.
func (p *rulesParser) call(at int) jsontree.Node {
	n := jsontree.Node{Kind: jsontree.Object, At: at}
	p.want('(')
	for p.err == nil && !p.accept(')') {
		p.space()
		at := p.at
		name := p.name()
		p.want('=')
		if n.Member(name) != nil {
			p.fail("duplicate argument " + name)
		}
		n.Members = append(n.Members, jsontree.Member{Key: name, At: at, Value: p.value(0)})
		if !p.accept(',') {
			p.want(')')
			break
		}
	}
	return n
}

// maxNesting is the maximum nesting depth of lists.
const maxNesting = 8

func (p *rulesParser) value(depth int) jsontree.Node {
	p.space()
	n := jsontree.Node{Kind: jsontree.List, At: p.at}
	if depth > maxNesting {
		p.fail("lists are nested too deeply")
		return n
	}
	if !p.accept('[') {
		return jsontree.Node{Kind: jsontree.Text, At: n.At, Text: p.text()}
	}
	for p.err == nil && !p.accept(']') {
		n.Items = append(n.Items, p.value(depth+1))
		if !p.accept(',') {
			p.want(']')
			break
		}
	}
	return n
}

// text parses a string in single, double or triple quotes.
func (p *rulesParser) text() string {
	rest := p.data[p.at:]
	if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		p.fail("want a string or a list")
		return ""
	}
	quote := rest[:1]
	if len(rest) >= 3 && rest[1] == rest[0] && rest[2] == rest[0] {
		quote = rest[:3]
	}
	p.at += len(quote)
	var out []byte
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case string(p.data[p.at:min(p.at+len(quote), len(p.data))]) == string(quote):
			p.at += len(quote)
			return string(out)
		case c == '\n' && len(quote) == 1:
			p.fail("unterminated string")
		case c == '\\' && p.at+1 < len(p.data):
			plain, ok := map[byte]byte{'\\': '\\', '"': '"', '\'': '\'', 'n': '\n', 't': '\t', 'r': '\r'}[p.data[p.at+1]]
			if !ok {
				p.fail(`unknown escape \` + string(p.data[p.at+1]) + " in a string")
			}
			out = append(out, plain)
			p.at += 2
		default:
			out = append(out, c)
			p.at++
		}
	}
	p.fail("unterminated string")
	return ""
}
