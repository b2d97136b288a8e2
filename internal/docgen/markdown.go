package docgen

import "strings"

// Table is a Markdown table. Without rows it is "".
func Table(heads []string, rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| " + strings.Join(heads, " | ") + " |\n|" + strings.Repeat("---|", len(heads)) + "\n")
	for _, row := range rows {
		b.WriteString("|")
		for _, cell := range row {
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Code is text in a code span of a table.
func Code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(oneLine(s), "|", `\|`) + "`"
}

// Text is plain text for a table: one line, with the special characters of Markdown and HTML escaped.
func Text(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(oneLine(s))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
