package files

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/tool"
)

// maxOutput is the maximum size, in bytes, of one output of a cell that is shown.
const maxOutput = 10 << 10

func isNotebook(path string) bool { return strings.HasSuffix(path, ".ipynb") }

// showNotebook returns a notebook as text, one cell after another; offset and limit are numbers of cells.
func (f *Files) showNotebook(n *notebook, in readInput) tool.Result {
	var b strings.Builder
	at := min(in.Offset, len(n.cells))
	end := len(n.cells)
	if in.Limit != nil {
		end = min(end, at+*in.Limit)
	}
	shown := at
	for ; shown < end && b.Len() < f.opts.MaxBytes; shown++ {
		c := &n.cells[shown]
		showCell(&b, c, c.name(shown), f.opts.MaxBytes)
	}
	note := ""
	switch {
	case len(n.cells) == 0:
		note = "[the notebook has no cells]"
	case shown == at:
		note = fmt.Sprintf("[the notebook has %d cells; offset %d is past the end]", len(n.cells), in.Offset)
	case shown < len(n.cells):
		note = fmt.Sprintf("[cells %d-%d of %d; continue with offset %d]", at, shown-1, len(n.cells), shown)
	}
	return tool.Result{Content: textParts(b.String(), note)}
}

func showCell(b *strings.Builder, c *cell, name string, limit int) {
	fmt.Fprintf(b, "<cell id=%q type=%q>\n%s\n</cell>\n", name, c.kind, clipText(c.source(), limit))
	outputs := c.node.Member("outputs")
	if outputs == nil || outputs.Kind != jsontree.List {
		return
	}
	for i := range outputs.Items {
		if text := showOutput(&outputs.Items[i]); text != "" {
			fmt.Fprintf(b, "<output of=%q>\n%s\n</output>\n", name, clipText(text, maxOutput))
		}
		if b.Len() > limit {
			b.WriteString("[further outputs are not shown]\n")
			return
		}
	}
}

var ansiEscape = lazyregexp.Must("\x1b\\[[0-9;]*[A-Za-z]")

// showOutput returns one output as text: its content, or its type.
func showOutput(o *jsontree.Node) string {
	if o.Kind != jsontree.Object {
		return ""
	}
	if text, ok := joined(o.Member("text")); ok {
		return ansiEscape().ReplaceAllString(text, "")
	}
	if name, ok := joined(o.Member("ename")); ok {
		value, _ := joined(o.Member("evalue"))
		lines := []string{name + ": " + value}
		if trace := o.Member("traceback"); trace != nil && trace.Kind == jsontree.List {
			for i := range trace.Items {
				lines = append(lines, trace.Items[i].Text)
			}
		}
		return ansiEscape().ReplaceAllString(strings.Join(lines, "\n"), "")
	}
	data := o.Member("data")
	if data == nil || data.Kind != jsontree.Object {
		return ""
	}
	var list []string
	for i := range data.Members {
		m := &data.Members[i]
		text, ok := joined(&m.Value)
		switch {
		case m.Key == "text/plain" && ok:
			list = append(list, ansiEscape().ReplaceAllString(text, ""))
		default:
			list = append(list, fmt.Sprintf("[%s, %d bytes]", clipText(m.Key, 100), m.Value.End-m.Value.At))
		}
	}
	return strings.Join(list, "\n")
}

// clipText truncates a text.
func clipText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + fmt.Sprintf("… [%d more bytes]", len(s)-limit)
}
