package term

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Diff returns the unified diff of two texts, without its headers.
func Diff(old, fresh string) []string {
	for _, s := range []*string{&old, &fresh} {
		if *s != "" && !strings.HasSuffix(*s, "\n") {
			*s += "\n"
		}
	}
	var lines []string
	n := 0
	for l := range strings.Lines(udiff.Unified("a", "b", old, fresh)) {
		if n++; n > 2 && !strings.HasPrefix(l, "@@") { // after "--- a" and "+++ b"
			lines = append(lines, l)
		}
	}
	return lines
}

// PaintDiff colors the first lines of a diff, at most limit of them, and adds a line that says how
// many remain.
func PaintDiff(t Style, lines []string, limit int) []string {
	var out []string
	for i, l := range lines {
		if i == limit {
			out = append(out, t.Dim(fmt.Sprintf("… %s more, --verbose shows them", Count(len(lines)-i, "line"))))
			break
		}
		l = Escape(strings.TrimRight(l, "\r\n"))
		switch {
		case strings.HasPrefix(l, "+"):
			l = t.Green(l)
		case strings.HasPrefix(l, "-"):
			l = t.Red(l)
		default:
			l = t.Dim(l)
		}
		out = append(out, l)
	}
	return out
}
