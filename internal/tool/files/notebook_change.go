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

// cellEdit is one change to a notebook.
type cellEdit struct {
	ID     string // the cell's id, or
	Number *int   // its number from 0
	Source string
	Type   string // "" keeps the current type
	Mode   string // replace, insert, delete
	salt   string // input for the id of a new cell
}

const (
	modeReplace = "replace"
	modeInsert  = "insert"
	modeDelete  = "delete"
)

// check rejects an edit that is invalid for every notebook.
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

// apply applies the edit. It returns the new bytes and a description of the change.
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
			at++ // after the named cell
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

// replace sets the source of a cell. It clears the outputs, because they belong to the old source.
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
			list = append(list, n.insertMember(c.node, "source", of.key, of.blank))
		}
	}
	if kind != codeCell {
		list = append(list, removeMembers(c.node, "execution_count", "outputs")...)
	}
	return n.withSplices(list...), nil
}

// insertMember inserts a member before another one.
func (n *notebook) insertMember(obj *jsontree.Node, other, key, value string) splice {
	at := obj.At + 1
	for i := range obj.Members {
		if obj.Members[i].Key == other {
			at = obj.Members[i].At
		}
	}
	return splice{at, at, jsonscan.Quote(key) + n.colon() + value + "," + n.gap(at)}
}

// removeMembers removes members together with their commas.
func removeMembers(obj *jsontree.Node, keys ...string) []splice {
	var list []splice
	last := -1 // the last member that remains
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
		default: // this member and all later ones are removed; the source before them remains
			return append(list, splice{obj.Members[last].Value.End, obj.Members[len(obj.Members)-1].Value.End, ""})
		}
	}
	return list
}

// gap returns the white space before a position.
func (n *notebook) gap(at int) string {
	from := at
	for from > 0 && strings.IndexByte(" \t\r\n", n.raw[from-1]) >= 0 {
		from--
	}
	return string(n.raw[from:at])
}

// colon returns the file's separator between keys and values.
func (n *notebook) colon() string {
	m := &n.root.Members[0]
	end := m.At + len(jsonscan.Quote(m.Key))
	if sep := string(n.raw[min(end, m.Value.At):m.Value.At]); strings.TrimLeft(sep, " ") == ":" || strings.TrimRight(sep, " ") == ":" {
		return sep
	}
	return ": "
}

// indentUnit returns one level of indentation; "" if the file is a single line.
func (n *notebook) indentUnit() string {
	gap := n.gap(n.root.Members[0].At)
	return gap[strings.LastIndexByte(gap, '\n')+1:]
}

// newline returns the file's line ending; "" if the file is a single line.
func (n *notebook) newline() string {
	switch gap := n.gap(n.root.Members[0].At); {
	case strings.Contains(gap, "\r\n"):
		return "\r\n"
	case strings.Contains(gap, "\n"):
		return "\n"
	}
	return ""
}

// text encodes a new source in the form of the old source: as a string, or as a list of lines.
func (n *notebook) text(old *jsontree.Node, source string) string {
	if old.Kind == jsontree.Text {
		return jsonscan.Quote(source)
	}
	inner, outer := "", ""
	if nl := n.newline(); nl != "" {
		here := n.indent(old.At)
		inner, outer = nl+here+n.indentUnit(), nl+here
	}
	if len(old.Items) > 0 {
		inner = n.gap(old.Items[0].At)
		outer = n.gap(old.End - 1)
	}
	return lineList(source, inner, outer)
}

// indent returns the indentation of the line that contains a position.
func (n *notebook) indent(at int) string {
	from := bytes.LastIndexByte(n.raw[:at], '\n') + 1
	to := from
	for to < at && (n.raw[to] == ' ' || n.raw[to] == '\t') {
		to++
	}
	return string(n.raw[from:to])
}

// lineList returns a source as a list of lines.
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

// insert inserts a new cell before the cell at an index, or after the last cell.
func (n *notebook) insert(at int, e cellEdit) ([]byte, string) {
	id := ""
	if n.ids {
		id = n.freshID(e)
	}
	nl, unit := n.newline(), n.indentUnit()
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
		return n.withSplices(splice{n.list.At, n.list.End, "[" + outer + text + end + "]"}), did
	case at == len(items):
		end := items[at-1].End
		return n.withSplices(splice{end, end, "," + n.cellSeparator() + text}), did
	}
	return n.withSplices(splice{items[at].At, items[at].At, text + "," + n.cellSeparator()}), did
}

// cellSeparator returns the white space between two cells.
func (n *notebook) cellSeparator() string {
	if len(n.list.Items) > 1 {
		return n.gap(n.list.Items[1].At)
	}
	if gap := n.gap(n.list.Items[0].At); gap != "" {
		return gap
	}
	return " "
}

// newCell encodes a cell; outer is the white space before it.
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

// freshID returns an unused cell id. It depends only on the call, because the preview shows the id
// before the write.
func (n *notebook) freshID(e cellEdit) string {
	for i := 0; ; i++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", e.salt, e.Source, i))
		id := hex.EncodeToString(sum[:4])
		if !slices.ContainsFunc(n.cells, func(c cell) bool { return c.id == id }) {
			return id
		}
	}
}

// remove removes a cell.
func (n *notebook) remove(at int) []byte {
	items := n.list.Items
	switch {
	case len(items) == 1:
		return n.withSplices(splice{n.list.At, n.list.End, "[]"})
	case at+1 < len(items):
		return n.withSplices(splice{items[at].At, items[at+1].At, ""})
	}
	return n.withSplices(splice{items[at-1].End, items[at].End, ""})
}
