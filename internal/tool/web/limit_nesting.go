package web

import (
	"slices"
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits for content that is converted unchanged. The author of a page controls the amount of work
// and output. Converting a quotation or list also processes everything nested in it, and each row
// of a table has as many columns as the widest row.
const (
	maxNest  = 8      // nested quotations and lists
	maxCells = 20_000 // cells of a table, including spans
)

// limitNesting converts content that exceeds the limits to plain blocks, and keeps its text.
func limitNesting(n *html.Node, nest int) {
	switch n.DataAtom {
	case atom.Blockquote, atom.Ul, atom.Ol:
		if nest++; nest > maxNest {
			rename(n, atom.Div)
		}
	case atom.Li:
		if nest > maxNest {
			rename(n, atom.Div)
		}
	case atom.Table:
		if tooWide(n) {
			flattenTable(n)
		}
	}
	for c := range n.ChildNodes() {
		limitNesting(c, nest)
	}
}

func rename(n *html.Node, to atom.Atom) { n.Data, n.DataAtom = to.String(), to }

// tooWide reports whether a table would have too many cells.
func tooWide(table *html.Node) bool {
	var widths []int // of the rows
	row, widest, filled := -1, 0, 0
	for n := range table.Descendants() {
		if n.DataAtom == atom.Tr {
			row++
			continue
		}
		if n.DataAtom != atom.Td && n.DataAtom != atom.Th {
			continue
		}
		row = max(row, 0)
		across, down := span(n, "colspan"), span(n, "rowspan")
		if across > maxCells || down > maxCells {
			return true
		}
		if filled += across * down; filled > maxCells {
			return true
		}
		for r := row; r < row+down; r++ {
			for len(widths) <= r {
				widths = append(widths, 0)
			}
			widths[r] += across
			widest = max(widest, widths[r])
		}
	}
	return max(row+1, len(widths))*widest > maxCells
}

// span returns how many columns or rows a cell covers.
func span(cell *html.Node, key string) int {
	for _, a := range cell.Attr {
		if v, err := strconv.Atoi(a.Val); a.Key == key && err == nil {
			return max(v, 1)
		}
	}
	return 1
}

// flattenTable converts each row of a table to a block.
func flattenTable(table *html.Node) {
	all := slices.Collect(table.Descendants())
	rename(table, atom.Div)
	for _, n := range all {
		switch n.DataAtom {
		case atom.Td, atom.Th:
			rename(n, atom.Span)
			n.AppendChild(&html.Node{Type: html.TextNode, Data: " "})
		case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Caption, atom.Colgroup, atom.Col:
			rename(n, atom.Div)
		}
	}
}
