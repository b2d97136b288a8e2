package edit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/internal/term"
)

// A cell is what the cursor moves over in one step: a grapheme cluster, a line break or a pasted
// block.
type cell struct {
	text  string
	show  string // text in a form that is safe for a terminal; "" for a line break
	width int    // of show, in columns; at least 1, except for a line break
	paste bool   // a pasted block, shown as a label
}

var newline = cell{text: "\n"}

// tab is how a tab is shown. Its width does not depend on the column, so that lines wrap the same
// way wherever the box begins.
const tab = "    "

// split returns the cells of text.
func split(text string) []cell {
	cells := make([]cell, 0, len(text))
	for text != "" {
		if b := text[0]; b >= ' ' && b < 0x7f && (len(text) == 1 || text[1] < 0x80) { // most text
			cells = append(cells, cell{text: text[:1], show: text[:1], width: 1})
			text = text[1:]
			continue
		}
		cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		cells = append(cells, newCell(cluster))
		text = text[len(cluster):]
	}
	return cells
}

func newCell(cluster string) cell {
	switch cluster {
	case "\n":
		return newline
	case "\t":
		return cell{text: cluster, show: tab, width: len(tab)}
	}
	show := term.Escape(cluster)
	if extends(show) {
		show = term.EscapeStrict(cluster)
	}
	if extends(show) {
		show = "\u25cc" + show // a dotted circle carries a mark without a base
	}
	width := max(1, ansi.StringWidth(show))
	return cell{text: cluster, show: show, width: width}
}

// extends reports whether s would change the character before it on the screen.
func extends(s string) bool {
	cluster, _ := ansi.FirstGraphemeCluster("x"+s, ansi.GraphemeWidth)
	return len(cluster) > 1
}

// A longer paste is a block.
const (
	maxPasteLines      = 3
	maxPasteCharacters = 400
)

// pasted returns the cells of a paste: one block if it is long, otherwise its text.
func pasted(text string) []cell {
	lines := 1 + strings.Count(strings.TrimSuffix(text, "\n"), "\n")
	if lines > maxPasteLines {
		return []cell{block(text, term.Count(lines, "line"))}
	}
	if n := utf8.RuneCountInString(text); n > maxPasteCharacters {
		return []cell{block(text, term.Count(n, "character"))}
	}
	return split(text)
}

func block(text, size string) cell {
	show := "[pasted " + size + "]"
	return cell{text: text, show: show, width: len(show), paste: true}
}

// label returns a block that shows its text.
func label(text string) cell {
	show := term.EscapeStrict(text)
	return cell{text: text, show: show, width: max(1, ansi.StringWidth(show)), paste: true}
}

// clean returns text with line feeds as line breaks and without invalid UTF-8. Other control
// characters stay in the text: the model gets what was pasted, and a cell shows them escaped.
func clean(text string) string {
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func (c cell) isNewline() bool { return c.text == "\n" && !c.paste }

func (c cell) isFlag() bool {
	for _, r := range c.text {
		return !c.paste && unicode.Is(unicode.Regional_Indicator, r)
	}
	return false
}

func (c cell) isSpace() bool {
	return !c.paste && strings.TrimSpace(c.text) == ""
}

// isWord reports whether the cell belongs to a word: it begins with a letter, a number or a mark
// of any script, or with an underscore. A block is a word of its own.
func (c cell) isWord() bool {
	for _, r := range c.text {
		return c.paste || r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.M)
	}
	return false
}

// join returns the text of cells.
func join(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.text)
	}
	return b.String()
}

func size(cells []cell) (bytes int) {
	for _, c := range cells {
		bytes += len(c.text)
	}
	return bytes
}
