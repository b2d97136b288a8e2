package markdown

import (
	"strconv"
	"strings"
)

// listMarker returns the item that s starts and the length of its sign, or 0.
func listMarker(s string) (container, int) {
	n, c := 1, container{delim: s[0]}
	if strings.IndexByte("-+*", s[0]) < 0 {
		n = len(s) - len(strings.TrimLeft(s, "0123456789"))
		if n == 0 || n > 9 || n == len(s) || s[n] != '.' && s[n] != ')' {
			return c, 0
		}
		c.number, _ = strconv.Atoi(s[:n])
		c.delim = s[n]
		n++
	}
	if n < len(s) && s[n] != ' ' && s[n] != '\t' {
		return c, 0
	}
	return c, n
}

func headingLevel(s string) int {
	n := len(s) - len(strings.TrimLeft(s, "#"))
	if n > 6 || n < len(s) && s[n] != ' ' && s[n] != '\t' {
		return 0
	}
	return n
}

func isRule(s string) bool {
	return strings.IndexByte("-*_", s[0]) >= 0 && strings.Count(s, s[:1]) >= 3 && strings.Trim(s, s[:1]+" \t") == ""
}

// htmlBlocks are the tags whose lines are shown as they are, until an empty line.
const htmlBlocks = " !-- !doctype address article aside blockquote body br center dd details div dl dt fieldset figure " +
	"footer form h1 h2 h3 h4 h5 h6 head header hr html iframe img li link main meta nav ol option p picture pre script " +
	"section select source style summary svg table tbody td textarea tfoot th thead title tr ul video "

func startsHTML(s string) bool {
	if s[0] != '<' {
		return false
	}
	if strings.HasPrefix(s, "<!--") {
		return true
	}
	name := strings.TrimPrefix(s[1:], "/")
	if i := strings.IndexAny(name, " \t>/"); i >= 0 {
		name = name[:i]
	}
	return name != "" && len(name) < 12 && strings.Contains(htmlBlocks, " "+strings.ToLower(name)+" ")
}

// indentation returns the columns of white space at the start of s, and the text after it. An empty text means
// that the line is blank.
func indentation(s string) (int, string) {
	col := 0
	for i := range len(s) {
		switch s[i] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		case '\v', '\f', '\r':
		default:
			return col, s[i:]
		}
	}
	return col, ""
}

// strip removes up to n columns of white space.
func strip(s string, n int) string {
	col := 0
	for i := range len(s) {
		if col >= n {
			return s[i:]
		}
		switch s[i] {
		case ' ':
			col++
		case '\t':
			if col += 4 - col%4; col > n {
				return strings.Repeat(" ", col-n) + s[i+1:]
			}
		default:
			return s[i:]
		}
	}
	return ""
}
