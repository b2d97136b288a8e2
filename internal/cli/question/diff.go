package question

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/diff"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
	"github.com/holdfast-dev/holdfast/policy"
)

// printChange prints the whole change of a file with line numbers.
func printChange(p *term.Printer, r policy.Request) {
	added, removed := diff.Count(r.Display)
	what := fmt.Sprintf("%s added, %d removed", term.Count(added, "line"), removed)
	if strings.HasPrefix(r.Display, "--- /dev/null\n") {
		what = "a new file of " + term.Count(added, "line")
	}
	printFact(p, "change", what, plain)
	width := 1 << 16 // other streams do not limit lines
	if p.TTY {
		width = p.Columns() - 2
	}
	for _, l := range diff.Lines(&diff.Options{Palette: paint.Palette{Style: colors(p)}}, r.Display, width, false) {
		p.Line("  %s", l)
	}
}

// colors returns the colors that a printer may use.
func colors(p *term.Printer) markdown.Style {
	if p.Color {
		return markdown.ANSI16
	}
	return markdown.Plain
}
