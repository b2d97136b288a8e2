package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/spelling"
	"github.com/holdfast-dev/holdfast/policy"
)

// SettingsBlock is the "hooks" block of a settings file, with its position.
type SettingsBlock struct {
	JSON     json.RawMessage
	Layer    string
	File     string
	Dir      string                           // the base of relative file rules
	Position func(offset int) (line, col int) // returns the position for an offset in the block; nil if unknown
}

// Decode parses the block. Under Claude Code's event names, it expects Claude Code's form. Under
// the Open Agent SDK's names, it expects that SDK's form: a list of {command, matcher, timeout in
// milliseconds}.
//
//	{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh", "timeout": 5}]}],
//	 "postToolUse": [{"command": "logger done", "matcher": "Bash", "timeout": 5000}]}
//
// The error wraps an *[Error] for each unknown event or field, invalid expression and impossible
// value. The valid definitions are returned together with the error.
func (b *SettingsBlock) Decode() ([]Definition, error) {
	d := &blockDecoder{o: b}
	if len(b.JSON) == 0 {
		return nil, nil
	}
	root, err := parseTree(b.JSON)
	switch {
	case err != nil:
		return nil, err
	case root.Kind == jsontree.Null:
		return nil, nil
	case root.Kind != jsontree.Object:
		return nil, &Error{Offset: root.At, What: "want an object, not " + root.Show(), Advice: `write {"PreToolUse": [...]}`}
	}
	for i := range root.Members {
		d.event(&root.Members[i])
	}
	return d.found, errors.Join(d.errs...)
}

// blockDecoder holds the state of decoding a block: definitions and errors.
type blockDecoder struct {
	o     *SettingsBlock
	found []Definition
	errs  []error
}

func (d *blockDecoder) event(m *jsontree.Member) {
	event, dialect, err := parseEvent(m.Key)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Field, e.Offset = m.Key, m.At
		if m.Key == "hooks" {
			e.Advice = `remove the outer "hooks": this is the block itself`
		}
		d.errs = append(d.errs, e)
		return
	}
	list, ok := d.list(m.Key, &m.Value)
	if !ok {
		return
	}
	for i := range list {
		path := fmt.Sprintf("%s[%d]", m.Key, i)
		if dialect == dialectSeed {
			d.seed(path, event, &list[i])
		} else {
			d.group(path, event, &list[i])
		}
	}
}

// report records an error.
func (d *blockDecoder) report(field string, at int, hint, format string, args ...any) {
	d.errs = append(d.errs, &Error{Field: field, Offset: at, What: fmt.Sprintf(format, args...), Advice: hint})
}

func (d *blockDecoder) expected(field string, n *jsontree.Node, want, hint string) {
	d.report(field, n.At, hint, "want %s, not %s", want, n.Show())
}

func (d *blockDecoder) list(field string, n *jsontree.Node) ([]jsontree.Node, bool) {
	if n.Kind == jsontree.List {
		return n.Items, true
	}
	d.expected(field, n, "a list", "put it in [ ]")
	return nil, false
}

// nodeDecoder decodes one field of an object.
type nodeDecoder func(path string, n *jsontree.Node)

// object decodes the fields of an object; null is treated like a missing field. It returns false if
// the object is invalid.
func (d *blockDecoder) object(path string, n *jsontree.Node, known map[string]nodeDecoder) bool {
	if n.Kind != jsontree.Object {
		d.expected(path, n, "an object", "")
		return false
	}
	before := len(d.errs)
	for i := range n.Members {
		m := &n.Members[i]
		sub := path + "." + m.Key
		read, ok := known[m.Key]
		switch {
		case !ok:
			d.report(sub, m.At, spelling.Hint(m.Key, slices.Sorted(maps.Keys(known)), "the fields are"), "unknown field")
		case m.Value.Kind != jsontree.Null:
			read(sub, &m.Value)
		}
	}
	return len(d.errs) == before
}

func (d *blockDecoder) text(into *string) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		switch {
		case n.Kind != jsontree.Text:
			d.expected(path, n, "a string", "")
		case strings.ContainsRune(n.Text, 0):
			d.report(path, n.At, "remove it", "it contains a NUL character")
		default:
			*into = n.Text
		}
	}
}

// requiredText decodes a string that must not be empty.
func (d *blockDecoder) requiredText(into *string) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		d.text(into)(path, n)
		if n.Kind == jsontree.Text && strings.TrimSpace(n.Text) == "" {
			d.report(path, n.At, "", "it is empty")
		}
	}
}

// word decodes a string from a fixed set.
func word[T ~string](d *blockDecoder, into *T, words ...T) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		if n.Kind == jsontree.Text && slices.Contains(words, T(n.Text)) {
			*into = T(n.Text)
			return
		}
		var list []string
		for _, w := range words {
			list = append(list, fmt.Sprintf("%q", string(w)))
		}
		d.report(path, n.At, "write "+strings.Join(list, " or "), "unknown value %s", n.Show())
	}
}

func (d *blockDecoder) flag(into *bool) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		if n.Kind != jsontree.Bool {
			d.expected(path, n, "true or false", "")
			return
		}
		*into = n.Text == "true"
	}
}

func (d *blockDecoder) texts(into *[]string, check func(string) (what, hint string)) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		items, ok := d.list(path, n)
		if !ok {
			return
		}
		*into = []string{}
		for i := range items {
			sub := fmt.Sprintf("%s[%d]", path, i)
			var s string
			d.text(&s)(sub, &items[i])
			if what, hint := check(s); what != "" && items[i].Kind == jsontree.Text {
				d.report(sub, items[i].At, hint, "%s", what)
			}
			*into = append(*into, s)
		}
	}
}

// origin returns the position of a definition.
func (d *blockDecoder) origin(at int) policy.Origin {
	o := policy.Origin{Layer: d.o.Layer, File: d.o.File}
	if d.o.Position != nil {
		o.Line, o.Col = d.o.Position(at)
	}
	return o
}

// add stores a definition if its condition is valid.
func (d *blockDecoder) add(path string, n *jsontree.Node, def Definition) {
	def.Origin, def.Dir = d.origin(n.At), d.o.Dir
	if def.If != "" {
		if _, err := compileIf(def.If, def.Dir, policy.RuleOptions{Home: "/", Cwd: cmp.Or(def.Dir, "/")}); err != nil {
			d.addErrorAt(err, path+".if", n.Field("if").At)
			return
		}
	}
	d.found = append(d.found, def)
}

// addErrorAt records an error with its position in the block.
func (d *blockDecoder) addErrorAt(err error, path string, at int) {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Field, e.Offset = path, at
	}
	d.errs = append(d.errs, err)
}

// parseTree parses a JSON text. Errors have the type *[Error] and contain the offset.
func parseTree(source []byte) (jsontree.Node, error) {
	root, err := jsontree.Parse(source)
	if e, ok := errors.AsType[*jsontree.Error](err); ok {
		if errors.Is(e, jsontree.ErrDeep) {
			e.Hint = "reduce the nesting depth"
		}
		err = &Error{Offset: e.Offset, What: e.What, Advice: e.Hint}
	}
	return root, err
}
