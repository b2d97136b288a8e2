package question

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/term"
)

func plain(s string) string { return s }

// A fact is a line "  what     run a command". Its text begins at the column factIndent.
const factIndent = 11

// printFact prints a fact with its name. It prints nothing if the text is empty.
func printFact(p *term.Printer, name, text string, style func(string) string) {
	printNamed(p, name, text, "  ", func(s string) string { return style(strings.TrimRight(s, " ")) })
}

// printExact is printFact for a text that the user must judge exactly: a mark shows where a line of
// it continues, so that a line break of the text looks different.
func printExact(p *term.Printer, name, text string, style func(string) string) {
	printNamed(p, name, text, "↳ ", style)
}

func printNamed(p *term.Printer, name, text, mark string, style func(string) string) {
	if text == "" {
		return
	}
	head := fmt.Sprintf("  %s  ", p.Dim(fmt.Sprintf("%-*s", factIndent-4, name)))
	rest := strings.Repeat(" ", factIndent-2)
	printParts(p, [3]string{head, rest + "  ", rest + p.Dim(mark)}, factIndent, text, style)
}

// printText prints a text of several lines below a fact.
func printText(p *term.Printer, text string) { printIndented(p, "    ", text, plain) }

// printIndented prints the lines of a text behind an indentation.
func printIndented(p *term.Printer, indent, text string, style func(string) string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	printParts(p, [3]string{indent, indent, indent}, len(indent), text, style)
}

// printParts prints the lines of an untrusted text. The heads stand before the first line, before
// each other line, and before the rest of a line that is too long for the terminal. They take width
// columns.
func printParts(p *term.Printer, heads [3]string, width int, text string, style func(string) string) {
	head := heads[0]
	for line := range strings.Lines(text) {
		line = term.EscapeStrict(strings.TrimSuffix(line, "\n"))
		for _, part := range fit(p, line, width) {
			p.Line("%s%s", head, style(part))
			head = heads[2]
		}
		head = heads[1]
	}
}

// fit divides a line into the parts that fit the terminal behind width columns. Other streams do
// not limit lines.
func fit(p *term.Printer, line string, width int) []string {
	if !p.TTY {
		return []string{line}
	}
	return term.Break(term.ExpandTabs(line), max(p.Columns()-width, minText))
}

// minText is the smallest width of a text, for very narrow terminals.
const minText = 10
