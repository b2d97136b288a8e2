// Package yamltree strictly parses YAML that people write. The result is a tree of package
// jsontree, so that an error about a value can contain its position. Words, values and depth are
// limited. Tags, duplicate keys and further documents are errors. Aliases and merge keys are
// expanded. [Split] separates the front matter from a Markdown text.
package yamltree

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

const (
	// maxTokens is the maximum size of the parser's input in tokens, because the parsing time grows
	// with the square of it.
	maxTokens = 10_000
	// maxNodes limits the number of values after aliases are expanded.
	maxNodes = 20_000
	maxDepth = 48
)

// Error describes what is wrong with a text, and where.
type Error struct {
	Offset int // in bytes; -1 if unknown
	Detail string
	Hint   string // how to fix it, or ""
}

func (e *Error) Error() string { return e.Detail }

// Parse parses one YAML document. Errors are *[Error].
func Parse(source []byte) (jsontree.Node, error) {
	if !utf8.Valid(source) {
		return jsontree.Node{}, &Error{Offset: -1, Detail: "not UTF-8", Hint: "save the file as UTF-8"}
	}
	y := &yamlReader{lines: lineStarts(source), source: source, anchors: map[string]*jsontree.Node{}}
	tokens := lexer.Tokenize(string(source))
	if err := y.checkSize(tokens); err != nil {
		return jsontree.Node{}, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return jsontree.Node{}, y.syntax(err)
	}
	switch {
	case len(file.Docs) > 1:
		return jsontree.Node{}, &Error{Offset: -1, Detail: fmt.Sprintf("the file has %d documents; only one is allowed", len(file.Docs))}
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		return jsontree.Node{}, &Error{Offset: -1, Detail: "the file is empty"}
	}
	n, err := y.node(file.Docs[0].Body, 0)
	if err != nil {
		return jsontree.Node{}, err
	}
	return *n, nil
}

type yamlReader struct {
	source  []byte
	lines   []int // offset of each line
	anchors map[string]*jsontree.Node
	nodes   int
}

// checkSize rejects a text that would cost the parser too much time or stack.
func (y *yamlReader) checkSize(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return &Error{Offset: -1, Detail: fmt.Sprintf("more than %d words and symbols", maxTokens)}
	}
	depth, dashes, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType:
			if t.Position.Line != line {
				dashes, line = 0, t.Position.Line
			}
			dashes++
		}
		if depth > maxDepth || dashes > maxDepth {
			return &Error{Offset: y.at(t), Detail: fmt.Sprintf("nested deeper than %d", maxDepth)}
		}
	}
	return nil
}

func lineStarts(source []byte) []int {
	starts := []int{0}
	for i, c := range source {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// at returns the offset of a token, whose column counts characters.
func (y *yamlReader) at(t *token.Token) int {
	if t == nil || t.Position == nil || t.Position.Line < 1 || t.Position.Line > len(y.lines) {
		return -1
	}
	at := y.lines[t.Position.Line-1]
	for range t.Position.Column - 1 {
		_, size := utf8.DecodeRune(y.source[at:])
		at += size
	}
	return at
}

func (y *yamlReader) syntax(err error) error {
	f := &Error{Offset: -1, Detail: "not YAML: " + err.Error()}
	if e, ok := errors.AsType[yaml.Error](err); ok {
		f.Detail, f.Offset = "not YAML: "+e.GetMessage(), y.at(e.GetToken())
	}
	if strings.Contains(f.Detail, "mapping value is not allowed") {
		f.Hint = "put text that contains a colon in quotes"
	}
	return f
}

func (y *yamlReader) wrong(n ast.Node, hint, format string, args ...any) error {
	return &Error{Offset: y.at(n.GetToken()), Detail: fmt.Sprintf(format, args...), Hint: hint}
}

// node converts a node of the parser.
func (y *yamlReader) node(n ast.Node, depth int) (*jsontree.Node, error) {
	if y.nodes++; y.nodes > maxNodes {
		return nil, y.wrong(n, "", "more than %d values after aliases are expanded", maxNodes)
	}
	if depth > maxDepth {
		return nil, y.wrong(n, "", "nested deeper than %d", maxDepth)
	}
	out := &jsontree.Node{At: y.at(n.GetToken())}
	switch n := n.(type) {
	case *ast.MappingNode:
		return out, y.mapping(out, n.Values, depth)
	case *ast.MappingValueNode:
		return out, y.mapping(out, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out.Kind = jsontree.List
		for _, v := range n.Values {
			item, err := y.node(v, depth+1)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, *item)
		}
		return out, nil
	case *ast.AnchorNode:
		v, err := y.node(n.Value, depth)
		if err == nil {
			y.anchors[n.Name.GetToken().Value] = v
		}
		return v, err
	case *ast.AliasNode:
		return y.alias(n, depth)
	}
	return out, y.scalar(out, n)
}

func (y *yamlReader) scalar(out *jsontree.Node, n ast.Node) error {
	switch n := n.(type) {
	case *ast.StringNode:
		out.Kind, out.Text = jsontree.Text, n.Value
	case *ast.LiteralNode:
		out.Kind, out.Text = jsontree.Text, n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.Kind, out.Text = jsontree.Number, n.GetToken().Value
	case *ast.BoolNode:
		out.Kind, out.Text = jsontree.Bool, fmt.Sprint(n.Value)
	case *ast.NullNode:
		out.Kind, out.Text = jsontree.Null, "null"
	case *ast.TagNode:
		return y.wrong(n, "remove the tag; put text in quotes if necessary", "tag %s: tags are not supported", n.GetToken().Value)
	default:
		return y.wrong(n, "", "unexpected %s", strings.ToLower(n.Type().String()))
	}
	return nil
}

// alias returns the value of an anchor, which must have ended before the alias. It counts all
// values in it, so that aliases of aliases are counted, too.
func (y *yamlReader) alias(n *ast.AliasNode, depth int) (*jsontree.Node, error) {
	name := n.Value.GetToken().Value
	v, ok := y.anchors[name]
	if !ok {
		return nil, y.wrong(n, "define the anchor before its alias: write &"+name+" in front of the value", "unknown anchor %q", name)
	}
	if size, deep := extent(v); depth+deep > maxDepth {
		return nil, y.wrong(n, "", "nested deeper than %d", maxDepth)
	} else if y.nodes += size; y.nodes > maxNodes {
		return nil, y.wrong(n, "", "more than %d values after aliases are expanded", maxNodes)
	}
	return v, nil
}

// extent returns the number of values in a node, including the node itself, and the depth of the
// node.
func extent(n *jsontree.Node) (size, depth int) {
	size = 1
	inner := func(c *jsontree.Node) {
		s, d := extent(c)
		size, depth = size+s, max(depth, d+1)
	}
	for i := range n.Members {
		inner(&n.Members[i].Value)
	}
	for i := range n.Items {
		inner(&n.Items[i])
	}
	return size, depth
}

func (y *yamlReader) mapping(out *jsontree.Node, values []*ast.MappingValueNode, depth int) error {
	out.Kind = jsontree.Object
	if len(values) > 0 {
		if at := y.at(values[0].Key.GetToken()); at >= 0 && (out.At < 0 || y.source[out.At] != '{') {
			out.At = at
		}
	}
	seen := map[string]bool{}
	var merged []*jsontree.Node
	for _, v := range values {
		value, err := y.node(v.Value, depth+1)
		if err != nil {
			return err
		}
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			from, err := y.mergeable(v, value)
			if err != nil {
				return err
			}
			merged = append(merged, from...)
			continue
		}
		key, err := y.key(v.Key)
		if err != nil {
			return err
		}
		if seen[key] {
			return y.wrong(v.Key, "keep one of them", "duplicate key %q", key)
		}
		seen[key] = true
		out.Members = append(out.Members, jsontree.Member{Key: key, At: y.at(v.Key.GetToken()), Value: *value})
	}
	for _, from := range merged {
		for _, m := range from.Members {
			if !seen[m.Key] {
				seen[m.Key] = true
				out.Members = append(out.Members, m)
			}
		}
	}
	return nil
}

// mergeable returns the mappings that a merge key names. Earlier mappings take precedence.
func (y *yamlReader) mergeable(v *ast.MappingValueNode, value *jsontree.Node) ([]*jsontree.Node, error) {
	var from []*jsontree.Node
	if value.Kind == jsontree.List {
		for i := range value.Items {
			from = append(from, &value.Items[i])
		}
	} else {
		from = []*jsontree.Node{value}
	}
	for _, f := range from {
		if f.Kind != jsontree.Object {
			return nil, y.wrong(v.Key, "write <<: *ANCHOR", "<< takes an object, or a list of objects, not %s", f.Kind)
		}
	}
	return from, nil
}

func (y *yamlReader) key(n ast.MapKeyNode) (string, error) {
	switch k := n.(type) {
	case *ast.StringNode:
		return k.Value, nil
	case *ast.MappingKeyNode:
		if s, ok := k.Value.(*ast.StringNode); ok {
			return s.Value, nil
		}
	}
	return "", y.wrong(n, "put it in quotes", "a key must be a text")
}
