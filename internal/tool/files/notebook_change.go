package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// cellEdit is one change of a notebook.
type cellEdit struct {
	ID     string // of the cell, or
	Number *int   // its number from 0
	Source string
	Type   string // "" keeps the cell's
	Mode   string // replace, insert, delete
	salt   string // for the id of a new cell
}

const (
	modeReplace = "replace"
	modeInsert  = "insert"
	modeDelete  = "delete"
)

// check refuses what makes no sense in any notebook.
func (e *cellEdit) check() error {
	if e.Mode == "" {
		e.Mode = modeReplace
	}
	switch {
	case e.Mode != modeReplace && e.Mode != modeInsert && e.Mode != modeDelete:
		return fmt.Errorf("unknown edit_mode %.40q: want replace, insert or delete", e.Mode)
	case e.Type != "" && e.Type != codeCell && e.Type != markdownCell && e.Type != rawCell:
		return fmt.Errorf("unknown cell_type %.40q: want code, markdown or raw", e.Type)
	case e.ID != "" && e.Number != nil:
		return errors.New("set cell_id or cell_number, not both")
	case e.Mode == modeInsert && e.Type == "":
		return errors.New("a new cell needs a cell_type")
	case e.Mode != modeInsert && e.ID == "" && e.Number == nil:
		return errors.New("set cell_id or cell_number")
	case e.Mode == modeDelete && (e.Source != "" || e.Type != ""):
		return errors.New("new_source and cell_type must not be set to delete a cell")
	}
	return nil
}

// apply makes the change. It returns the new bytes, and what was done in words.
func (n *notebook) apply(e cellEdit) (out []byte, did string, err error) {
	if err := e.check(); err != nil {
		return nil, "", err
	}
	at := len(n.cells)
	switch {
	case e.Mode == modeInsert && e.Number != nil && *e.Number == len(n.cells):
	case e.ID != "" || e.Number != nil:
		if at, err = n.find(e.ID, e.Number); err != nil {
			return nil, "", err
		}
		if e.Mode == modeInsert && e.ID != "" {
			at++ // behind the one that is named
		}
	case e.Mode == modeInsert:
		at = 0
	}
	switch e.Mode {
	case modeInsert:
		out, did = n.insert(at, e)
	case modeDelete:
		out, did = n.remove(at), fmt.Sprintf("Deleted cell %s", n.cells[at].name(at))
	default:
		if out, err = n.replace(at, e); err != nil {
			return nil, "", err
		}
		did = fmt.Sprintf("Updated cell %s", n.cells[at].name(at))
	}
	again, err := parseNotebook(out)
	if err != nil {
		return nil, "", fmt.Errorf("the change would result in a file that %w", err)
	}
	return out, fmt.Sprintf("%s; the notebook has %d cells", did, len(again.cells)), nil
}

// replace puts a new source into a cell. What ran before is no result of it.
func (n *notebook) replace(at int, e cellEdit) ([]byte, error) {
	c := &n.cells[at]
	kind := c.kind
	if e.Type != "" {
		kind = e.Type
	}
	if kind != c.kind && c.node.Member("attachments") != nil {
		return nil, errors.New("the cell has attachments, which cells of another type cannot have: delete it and insert a new cell")
	}
	src := c.node.Member("source")
	list := []splice{{src.At, src.End, n.text(src, e.Source)}}
	if kind != c.kind {
		t := c.node.Member("cell_type")
		list = append(list, splice{t.At, t.End, jsonscan.Quote(kind)})
	}
	for _, of := range []struct{ key, blank string }{{"execution_count", "null"}, {"outputs", "[]"}} {
		switch v := c.node.Member(of.key); {
		case kind != codeCell:
		case v != nil:
			list = append(list, splice{v.At, v.End, of.blank})
		default:
			list = append(list, n.before(c.node, "source", of.key, of.blank))
		}
	}
	if kind != codeCell {
		list = append(list, without(c.node, "execution_count", "outputs")...)
	}
	return n.with(list...), nil
}

// before is a new member in front of another.
func (n *notebook) before(obj *jsontree.Node, other, key, value string) splice {
	at := obj.At + 1
	for i := range obj.Members {
		if obj.Members[i].Key == other {
			at = obj.Members[i].At
		}
	}
	return splice{at, at, jsonscan.Quote(key) + n.colon() + value + "," + n.gap(at)}
}

// without takes members away, with the commas that belong to them.
func without(obj *jsontree.Node, keys ...string) []splice {
	var list []splice
	last := -1 // that stays
	for i := range obj.Members {
		if m := &obj.Members[i]; !slices.Contains(keys, m.Key) {
			last = i
		}
	}
	for i := range obj.Members {
		m := &obj.Members[i]
		switch {
		case !slices.Contains(keys, m.Key):
		case i < last:
			list = append(list, splice{m.At, obj.Members[i+1].At, ""})
		default: // all from here on go; there is a source that stays
			return append(list, splice{obj.Members[last].Value.End, obj.Members[len(obj.Members)-1].Value.End, ""})
		}
	}
	return list
}

// gap is the white space in front of a place.
func (n *notebook) gap(at int) string {
	from := at
	for from > 0 && strings.IndexByte(" \t\r\n", n.raw[from-1]) >= 0 {
		from--
	}
	return string(n.raw[from:at])
}

// colon is how the file separates keys from values.
func (n *notebook) colon() string {
	m := &n.root.Members[0]
	end := m.At + len(jsonscan.Quote(m.Key))
	if sep := string(n.raw[min(end, m.Value.At):m.Value.At]); strings.TrimLeft(sep, " ") == ":" || strings.TrimRight(sep, " ") == ":" {
		return sep
	}
	return ": "
}

// unit is one step of indentation: "" when the file is written on one line.
func (n *notebook) unit() string {
	gap := n.gap(n.root.Members[0].At)
	return gap[strings.LastIndexByte(gap, '\n')+1:]
}

// newline is how the lines of the file end: "" when it is written on one.
func (n *notebook) newline() string {
	switch gap := n.gap(n.root.Members[0].At); {
	case strings.Contains(gap, "\r\n"):
		return "\r\n"
	case strings.Contains(gap, "\n"):
		return "\n"
	}
	return ""
}

// text is a new source in the form of the old one: a text, or lines.
func (n *notebook) text(old *jsontree.Node, source string) string {
	if old.Kind == jsontree.Text {
		return jsonscan.Quote(source)
	}
	inner, outer := "", ""
	if nl := n.newline(); nl != "" {
		here := n.indent(old.At)
		inner, outer = nl+here+n.unit(), nl+here
	}
	if len(old.Items) > 0 {
		inner = n.gap(old.Items[0].At)
		outer = n.gap(old.End - 1)
	}
	return lineList(source, inner, outer)
}

// indent is how far the line is indented on which a place is.
func (n *notebook) indent(at int) string {
	from := bytes.LastIndexByte(n.raw[:at], '\n') + 1
	to := from
	for to < at && (n.raw[to] == ' ' || n.raw[to] == '\t') {
		to++
	}
	return string(n.raw[from:to])
}

// lineList is a source as the list of its lines.
func lineList(source, inner, outer string) string {
	if source == "" {
		return "[]"
	}
	var b strings.Builder
	b.WriteByte('[')
	for i, line := range strings.SplitAfter(source, "\n") {
		if line == "" {
			continue
		}
		if i > 0 {
			b.WriteByte(',')
			if inner == "" {
				b.WriteByte(' ')
			}
		}
		b.WriteString(inner + jsonscan.Quote(line))
	}
	b.WriteString(outer + "]")
	return b.String()
}

// insert puts a new cell in front of the one at an index, or behind the last.
func (n *notebook) insert(at int, e cellEdit) ([]byte, string) {
	id := ""
	if n.ids {
		id = n.freshID(e)
	}
	nl, unit := n.newline(), n.unit()
	outer := ""
	if nl != "" {
		outer = nl + n.indent(n.list.At) + unit
	}
	if len(n.list.Items) > 0 {
		outer = n.gap(n.list.Items[0].At)
	}
	text := n.newCell(e, id, outer, unit)
	did := fmt.Sprintf("Inserted cell %d", at)
	if id != "" {
		did = fmt.Sprintf("Inserted cell %s as number %d", id, at)
	}
	items := n.list.Items
	switch {
	case len(items) == 0:
		end := ""
		if nl != "" {
			end = nl + n.indent(n.list.At)
		}
		return n.with(splice{n.list.At, n.list.End, "[" + outer + text + end + "]"}), did
	case at == len(items):
		end := items[at-1].End
		return n.with(splice{end, end, "," + n.between() + text}), did
	}
	return n.with(splice{items[at].At, items[at].At, text + "," + n.between()}), did
}

// between is the white space between two cells.
func (n *notebook) between() string {
	if len(n.list.Items) > 1 {
		return n.gap(n.list.Items[1].At)
	}
	if gap := n.gap(n.list.Items[0].At); gap != "" {
		return gap
	}
	return " "
}

// newCell is a cell as text; outer is the white space in front of it.
func (n *notebook) newCell(e cellEdit, id, outer, unit string) string {
	colon := n.colon()
	inner, deep := "", ""
	if strings.Contains(outer, "\n") {
		inner = outer + unit
		deep = inner + unit
	}
	fields := []string{jsonscan.Quote("cell_type") + colon + jsonscan.Quote(e.Type)}
	if e.Type == codeCell {
		fields = append(fields, jsonscan.Quote("execution_count")+colon+"null")
	}
	if id != "" {
		fields = append(fields, jsonscan.Quote("id")+colon+jsonscan.Quote(id))
	}
	fields = append(fields, jsonscan.Quote("metadata")+colon+"{}")
	if e.Type == codeCell {
		fields = append(fields, jsonscan.Quote("outputs")+colon+"[]")
	}
	fields = append(fields, jsonscan.Quote("source")+colon+lineList(e.Source, deep, inner))
	if inner == "" {
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return "{" + inner + strings.Join(fields, ","+inner) + outer + "}"
}

// freshID is an id that no cell has, the same for the same call: it is shown before it is
// written.
func (n *notebook) freshID(e cellEdit) string {
	for i := 0; ; i++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", e.salt, e.Source, i))
		id := hex.EncodeToString(sum[:4])
		if !slices.ContainsFunc(n.cells, func(c cell) bool { return c.id == id }) {
			return id
		}
	}
}

// remove takes a cell away.
func (n *notebook) remove(at int) []byte {
	items := n.list.Items
	switch {
	case len(items) == 1:
		return n.with(splice{n.list.At, n.list.End, "[]"})
	case at+1 < len(items):
		return n.with(splice{items[at].At, items[at+1].At, ""})
	}
	return n.with(splice{items[at-1].End, items[at].End, ""})
}
