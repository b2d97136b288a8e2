package importsettings

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// parseTOML parses TOML to a tree whose values have positions. Dates become strings.
func parseTOML(data []byte) (jsontree.Node, error) {
	root := jsontree.Node{Kind: jsontree.Object}
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil { // this also checks semantics, such as duplicate keys
		e := &Error{Detail: "not TOML: " + err.Error()}
		if d, ok := errors.AsType[*toml.DecodeError](err); ok {
			e.Line, e.Col = d.Position()
			e.Detail = "not TOML: " + strings.TrimPrefix(d.Error(), "toml: ")
		}
		return root, e
	}
	var p unstable.Parser
	p.Reset(data)
	r := tomlReader{p: &p}
	table := &root
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.KeyValue:
			r.pair(table, e)
		case unstable.Table:
			keys := r.keys(e)
			table = r.table(&root, keys)
		case unstable.ArrayTable:
			keys := r.keys(e)
			list := r.table(&root, keys[:len(keys)-1])
			table = r.element(list, keys[len(keys)-1])
		}
	}
	if err := p.Error(); err != nil {
		return root, &Error{Detail: "not TOML: " + err.Error()}
	}
	return root, nil
}

type tomlReader struct{ p *unstable.Parser }

// tomlKey is a part of a dotted key.
type tomlKey struct {
	name string
	at   int
}

func (r *tomlReader) keys(n *unstable.Node) (list []tomlKey) {
	for it := n.Key(); it.Next(); {
		k := it.Node()
		list = append(list, tomlKey{string(k.Data), int(k.Raw.Offset)})
	}
	return list
}

// table returns the table of a dotted key. For a list of tables it returns the last table.
func (r *tomlReader) table(n *jsontree.Node, keys []tomlKey) *jsontree.Node {
	for _, k := range keys {
		n = member(n, k, jsontree.Object)
		if n.Kind == jsontree.List && len(n.Items) > 0 {
			n = &n.Items[len(n.Items)-1]
		}
	}
	return n
}

// element adds a table to a list of tables.
func (r *tomlReader) element(n *jsontree.Node, k tomlKey) *jsontree.Node {
	list := member(n, k, jsontree.List)
	list.Items = append(list.Items, jsontree.Node{Kind: jsontree.Object, At: k.at})
	return &list.Items[len(list.Items)-1]
}

// member returns a member of an object, and creates it with a kind if it does not exist.
func member(n *jsontree.Node, k tomlKey, kind jsontree.Kind) *jsontree.Node {
	i := slices.IndexFunc(n.Members, func(m jsontree.Member) bool { return m.Key == k.name })
	if i < 0 {
		n.Members = append(n.Members, jsontree.Member{Key: k.name, At: k.at, Value: jsontree.Node{Kind: kind, At: k.at}})
		i = len(n.Members) - 1
	}
	return &n.Members[i].Value
}

func (r *tomlReader) pair(table *jsontree.Node, e *unstable.Node) {
	keys := r.keys(e)
	in := r.table(table, keys[:len(keys)-1])
	last := keys[len(keys)-1]
	*member(in, last, jsontree.Null) = r.value(e.Value(), last.at)
}

// value converts a value. The parameter at is its position if the parser does not provide one.
func (r *tomlReader) value(v *unstable.Node, at int) jsontree.Node {
	if v.Raw.Length > 0 {
		at = int(v.Raw.Offset)
	}
	n := jsontree.Node{At: at, Text: string(v.Data)}
	switch v.Kind {
	case unstable.Array:
		n.Kind, n.Text = jsontree.List, ""
		for it := v.Children(); it.Next(); {
			n.Items = append(n.Items, r.value(it.Node(), at))
		}
	case unstable.InlineTable:
		n.Kind, n.Text = jsontree.Object, ""
		for it := v.Children(); it.Next(); {
			r.pair(&n, it.Node())
		}
	case unstable.Bool:
		n.Kind = jsontree.Bool
	case unstable.Integer, unstable.Float:
		if n.Text = number(n.Text); json.Valid([]byte(n.Text)) {
			n.Kind = jsontree.Number
		} else { // 0x1F, inf
			n.Kind = jsontree.Text
		}
	default: // strings, dates
		n.Kind = jsontree.Text
	}
	return n
}

func number(s string) string {
	return strings.TrimPrefix(strings.ReplaceAll(s, "_", ""), "+")
}

// dotted joins parts to a key in TOML's form.
func dotted(parts ...string) string {
	for i, p := range parts {
		if strings.ContainsFunc(p, func(c rune) bool {
			return !(c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z')
		}) {
			parts[i] = fmt.Sprintf("%q", p)
		}
	}
	return strings.Join(parts, ".")
}
