package question

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

var hunkHead = lazyregexp.Must(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// printDiff prints the change of a file with line numbers: of the new content, and of the old
// content for a line that is removed. A line that no unified diff has is printed as it is.
func printDiff(p *term.Printer, r policy.Request) {
	old, fresh := 0, 0
	for line := range strings.Lines(r.Display) {
		line = strings.TrimSuffix(line, "\n")
		if m := hunkHead().FindStringSubmatch(line); m != nil {
			if old+fresh > 0 {
				p.Line("%s", p.Dim("      …"))
			}
			old, _ = strconv.Atoi(m[1])
			fresh, _ = strconv.Atoi(m[2])
			continue
		}
		sign, number, style := " ", 0, p.Dim
		switch {
		case old+fresh == 0 && (line == "--- "+r.Resource || line == "--- "+r.NamedPath || line == "--- /dev/null" || line == "+++ "+r.Resource || line == "+++ "+r.NamedPath):
			if line == "--- /dev/null" {
				printFact(p, "change", "a new file", plain)
			}
			continue // the request shows the name
		case old+fresh == 0 || line == "":
		case line[0] == '+':
			sign, number, style = "+", fresh, p.Green
			fresh++
		case line[0] == '-':
			sign, number, style = "-", old, p.Red
			old++
		case line[0] == ' ':
			number = fresh
			old, fresh = old+1, fresh+1
		}
		if number > 0 {
			line = line[1:]
		} else {
			sign = ""
		}
		printChanged(p, sign, number, line, style)
	}
}

// printChanged prints a line of a change, and its number if it has one.
func printChanged(p *term.Printer, sign string, number int, line string, style func(string) string) {
	const width = 8 // of the number and the sign
	head := strings.Repeat(" ", 6)
	if number > 0 {
		head = fmt.Sprintf("%6d", number)
	}
	for _, part := range fit(p, term.EscapeStrict(line), width) {
		p.Line("%s %s", p.Dim(head), style(sign+part))
		head = strings.Repeat(" ", 6)
	}
}
