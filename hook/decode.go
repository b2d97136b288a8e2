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

// SettingsBlock is the "hooks" block of a settings file, and where it was written.
type SettingsBlock struct {
	JSON     json.RawMessage
	Layer    string
	File     string
	Dir      string                           // what relative file rules are relative to
	Position func(offset int) (line, col int) // of an offset in the block; nil: unknown
}

// Decode reads the block: Claude Code's form under
// Claude's names of events, seed 000's (a list of {command, matcher, timeout in
// milliseconds}) under its names.
//
//	{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh", "timeout": 5}]}],
//	 "postToolUse": [{"command": "logger done", "matcher": "Bash", "timeout": 5000}]}
//
// Errors are *[Error]; unknown events and fields, bad expressions and values that
// cannot work are among them. What could be read is returned with the error.
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
		return nil, &Error{Offset: root.At, What: root.Show() + " stands where an object is needed", Advice: `write {"PreToolUse": [...]}`}
	}
	for i := range root.Members {
		d.event(&root.Members[i])
	}
	return d.found, errors.Join(d.errs...)
}

// blockDecoder is a block of hooks while it is read: what was found, and what is wrong.
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
			e.Advice = `take away the outer "hooks": this is the block itself`
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

// wrong notes an error.
func (d *blockDecoder) wrong(field string, at int, hint, format string, args ...any) {
	d.errs = append(d.errs, &Error{Field: field, Offset: at, What: fmt.Sprintf(format, args...), Advice: hint})
}

func (d *blockDecoder) expected(field string, n *jsontree.Node, want, hint string) {
	d.wrong(field, n.At, hint, "%s stands where %s is needed", n.Show(), want)
}

func (d *blockDecoder) list(field string, n *jsontree.Node) ([]jsontree.Node, bool) {
	if n.Kind == jsontree.List {
		return n.Items, true
	}
	d.expected(field, n, "a list", "put it into [ ]")
	return nil, false
}

// reader reads one field of an object.
type reader func(path string, n *jsontree.Node)

// object reads the fields of an object; null is a field that is not there. It
// returns false when the object cannot be used.
func (d *blockDecoder) object(path string, n *jsontree.Node, known map[string]reader) bool {
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
			d.wrong(sub, m.At, spelling.Hint(m.Key, slices.Sorted(maps.Keys(known)), "known are"), "there is no such field")
		case m.Value.Kind != jsontree.Null:
			read(sub, &m.Value)
		}
	}
	return len(d.errs) == before
}

func (d *blockDecoder) text(into *string) reader {
	return func(path string, n *jsontree.Node) {
		switch {
		case n.Kind != jsontree.Text:
			d.expected(path, n, "a text", "")
		case strings.ContainsRune(n.Text, 0):
			d.wrong(path, n.At, "take it out", "it holds a NUL character")
		default:
			*into = n.Text
		}
	}
}

// needed is a text that is not empty.
func (d *blockDecoder) needed(into *string) reader {
	return func(path string, n *jsontree.Node) {
		d.text(into)(path, n)
		if n.Kind == jsontree.Text && strings.TrimSpace(n.Text) == "" {
			d.wrong(path, n.At, "", "it is empty")
		}
	}
}

// word is a text out of a set.
func word[T ~string](d *blockDecoder, into *T, words ...T) reader {
	return func(path string, n *jsontree.Node) {
		if n.Kind == jsontree.Text && slices.Contains(words, T(n.Text)) {
			*into = T(n.Text)
			return
		}
		var list []string
		for _, w := range words {
			list = append(list, fmt.Sprintf("%q", string(w)))
		}
		d.wrong(path, n.At, "write "+strings.Join(list, " or "), "%s cannot stand here", n.Show())
	}
}

func (d *blockDecoder) flag(into *bool) reader {
	return func(path string, n *jsontree.Node) {
		if n.Kind != jsontree.Bool {
			d.expected(path, n, "true or false", "")
			return
		}
		*into = n.Text == "true"
	}
}

func (d *blockDecoder) texts(into *[]string, check func(string) (what, hint string)) reader {
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
				d.wrong(sub, items[i].At, hint, "%s", what)
			}
			*into = append(*into, s)
		}
	}
}

// origin says where a definition was written.
func (d *blockDecoder) origin(at int) policy.Origin {
	o := policy.Origin{Layer: d.o.Layer, File: d.o.File}
	if d.o.Position != nil {
		o.Line, o.Col = d.o.Position(at)
	}
	return o
}

// add keeps a definition whose matcher and condition can be used.
func (d *blockDecoder) add(path string, n *jsontree.Node, def Definition) {
	def.Origin, def.Dir = d.origin(n.At), d.o.Dir
	if def.If != "" {
		if _, err := compileIf(def.If, def.Dir, policy.RuleOptions{Home: "/", Cwd: cmp.Or(def.Dir, "/")}); err != nil {
			d.place(err, path+".if", n.Field("if").At)
			return
		}
	}
	d.found = append(d.found, def)
}

// place notes an error with its place in the block.
func (d *blockDecoder) place(err error, path string, at int) {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Field, e.Offset = path, at
	}
	d.errs = append(d.errs, err)
}

// parseTree reads a JSON text. Errors are *[Error], with the offset.
func parseTree(source []byte) (jsontree.Node, error) {
	root, err := jsontree.Parse(source)
	if e, ok := errors.AsType[*jsontree.Error](err); ok {
		if errors.Is(e, jsontree.ErrDeep) {
			e.Hint = "nothing here needs such a depth"
		}
		err = &Error{Offset: e.Offset, What: e.What, Advice: e.Hint}
	}
	return root, err
}
