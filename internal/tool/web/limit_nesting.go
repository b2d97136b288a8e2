package web

import (
	"slices"
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of what is converted as it is. Whoever writes a page chooses how much work and
// how much text it makes: each quotation and each list is gone through again by the one
// around it, and a table has as many columns in each row as in its widest.
const (
	maxNest  = 8      // quotations and lists in each other
	maxCells = 20_000 // of a table, with those that spans stand for
)

// limitNesting makes plain blocks of what is beyond the bounds: its text stays.
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

// tooWide says whether a table becomes more cells than are converted.
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

// span is how many columns or rows a cell stands for.
func span(cell *html.Node, key string) int {
	for _, a := range cell.Attr {
		if v, err := strconv.Atoi(a.Val); a.Key == key && err == nil {
			return max(v, 1)
		}
	}
	return 1
}

// flattenTable makes a block of each row of a table.
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
