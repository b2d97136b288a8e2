package files

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// The types of cells.
const (
	codeCell     = "code"
	markdownCell = "markdown"
	rawCell      = "raw"
)

// maxValues is the maximum number of values in a notebook, because each value is a few bytes of
// JSON but needs about a hundred bytes of memory.
const maxValues = 1 << 20

// notebook is a Jupyter notebook (nbformat 4). It contains the positions of the notebook's parts,
// so that parts that do not change keep their bytes.
type notebook struct {
	raw   []byte
	root  jsontree.Node
	list  *jsontree.Node // the cells
	cells []cell
	ids   bool // cells have ids (nbformat 4.5 and later)
}

// cell is one cell of a notebook.
type cell struct {
	node *jsontree.Node
	id   string // "" if it has none
	kind string
}

// name returns the cell's name for the model: its id, or cell-N.
func (c *cell) name(i int) string {
	if c.id != "" {
		return c.id
	}
	return "cell-" + strconv.Itoa(i)
}

// parseNotebook parses a notebook. The error says why the file is not a notebook.
func parseNotebook(raw []byte) (*notebook, error) {
	if n := bytes.Count(raw, []byte(",")) + bytes.Count(raw, []byte("[")); n > maxValues {
		return nil, fmt.Errorf("is too large for a notebook: it may have more than %d values", maxValues)
	}
	root, err := jsontree.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("is not a notebook: %w", err)
	}
	if root.Kind != jsontree.Object {
		return nil, fmt.Errorf("is not a notebook: it is %s", root.Kind)
	}
	n := &notebook{raw: raw, root: root, list: root.Member("cells")}
	format := root.Member("nbformat")
	switch {
	case format == nil:
		return nil, errors.New("is not a notebook: it has no nbformat")
	case format.Kind != jsontree.Number || format.Text != "4":
		return nil, fmt.Errorf("has nbformat %s, but only 4 is supported; convert it with jupyter nbconvert --to notebook", format.Show())
	case n.list == nil || n.list.Kind != jsontree.List:
		return nil, errors.New("is not a notebook: it has no list of cells")
	}
	if minor := root.Member("nbformat_minor"); minor != nil && minor.Kind == jsontree.Number {
		v, err := strconv.Atoi(minor.Text)
		n.ids = err == nil && v >= 5
	}
	for i := range n.list.Items {
		c, err := parseCell(&n.list.Items[i])
		if err != nil {
			return nil, fmt.Errorf("is not a notebook: cell %d %w", i, err)
		}
		n.cells = append(n.cells, c)
	}
	return n, nil
}

func parseCell(node *jsontree.Node) (c cell, err error) {
	c.node = node
	if node.Kind != jsontree.Object {
		return c, fmt.Errorf("is %s", node.Kind)
	}
	kind := node.Member("cell_type")
	if kind == nil || kind.Kind != jsontree.Text {
		return c, errors.New("has no cell_type")
	}
	if c.kind = kind.Text; c.kind != codeCell && c.kind != markdownCell && c.kind != rawCell {
		return c, fmt.Errorf("has the unknown cell_type %.40q", c.kind)
	}
	if _, ok := joined(node.Member("source")); !ok {
		return c, errors.New("has a source that is neither a string nor a list of strings")
	}
	if id := node.Member("id"); id != nil {
		if id.Kind != jsontree.Text {
			return c, errors.New("has an id that is not a string")
		}
		c.id = id.Text
	}
	return c, nil
}

// joined returns a string, or the concatenation of a list of strings.
func joined(n *jsontree.Node) (string, bool) {
	switch {
	case n == nil:
		return "", false
	case n.Kind == jsontree.Text:
		return n.Text, true
	case n.Kind != jsontree.List:
		return "", false
	}
	var b strings.Builder
	for i := range n.Items {
		if n.Items[i].Kind != jsontree.Text {
			return "", false
		}
		b.WriteString(n.Items[i].Text)
	}
	return b.String(), true
}

// source returns a cell's text.
func (c *cell) source() string {
	text, _ := joined(c.node.Member("source"))
	return text
}

// find returns the index of the cell that a call names, by id or number.
func (n *notebook) find(id string, number *int) (int, error) {
	if number != nil {
		if *number < 0 || *number >= len(n.cells) {
			return 0, fmt.Errorf("no cell has the number %d: %s", *number, n.cellNames())
		}
		return *number, nil
	}
	at := -1
	for i := range n.cells {
		if n.cells[i].id != id {
			continue
		}
		if at >= 0 {
			return 0, fmt.Errorf("several cells have the id %.60q; use cell_number instead", id)
		}
		at = i
	}
	if digits, ok := strings.CutPrefix(id, "cell-"); ok && at < 0 {
		if i, err := strconv.Atoi(digits); err == nil && i >= 0 && i < len(n.cells) && n.cells[i].id == "" {
			at = i
		}
	}
	if at < 0 {
		return 0, fmt.Errorf("no cell has the id %.60q: %s", id, n.cellNames())
	}
	return at, nil
}

func (n *notebook) cellNames() string {
	if len(n.cells) == 0 {
		return "the notebook has no cells"
	}
	list := make([]string, 0, 10)
	for i := range n.cells[:min(len(n.cells), 10)] {
		list = append(list, n.cells[i].name(i))
	}
	if more := len(n.cells) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return "the cells are " + strings.Join(list, ", ")
}

// splice is a part of the source to replace.
type splice struct {
	from, to int
	text     string
}

// withSplices returns the source with the splices applied. They must not overlap.
func (n *notebook) withSplices(list ...splice) []byte {
	slices.SortStableFunc(list, func(a, b splice) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for _, s := range list {
		out.Write(n.raw[at:s.from])
		out.WriteString(s.text)
		at = s.to
	}
	out.Write(n.raw[at:])
	return out.Bytes()
}
