package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Break divides a line without escape sequences into parts of at most width columns. It divides
// after a space where it can, else between two characters. The parts together are the line:
// nothing is left out, so that a user can judge an exact text.
func Break(line string, width int) []string {
	width = max(width, 2) // a wide character
	var parts []string
	for Width(line) > width {
		n, space, col := 0, 0, 0
		for n < len(line) {
			cluster, w := ansi.FirstGraphemeCluster(line[n:], ansi.GraphemeWidth)
			if col+w > width && n > 0 {
				break
			}
			n, col = n+len(cluster), col+w
			if cluster == " " {
				space = n
			}
		}
		if space > 0 {
			n = space
		}
		parts = append(parts, line[:n])
		line = line[n:]
	}
	return append(parts, line)
}

// Wrap divides a line with colors into lines of at most width columns, between words where it can.
func Wrap(line string, width int) []string {
	line = ExpandTabs(line)
	if Width(line) <= width {
		return []string{line}
	}
	width = max(width, 2) // a wide character
	wrapped := ansi.Wrap(line, width, " ")
	lines := strings.Split(ansi.Hardwrap(wrapped, width, true), "\n") // it can leave a space too many
	open := ""
	for i, l := range lines {
		lines[i] = open + l
		if at := strings.LastIndex(lines[i], "\x1b["); at >= 0 {
			code, _, _ := strings.Cut(lines[i][at:], "m")
			if open = code + "m"; open == reset || open == "\x1b[m" {
				open = ""
			}
		}
		if open != "" {
			lines[i] += reset
		}
	}
	return lines
}

// ExpandTabs replaces tabs by spaces, because the width of a tab depends on its column.
func ExpandTabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }
