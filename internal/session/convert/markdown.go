package convert

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// writeMarkdown writes a readable transcript: a heading for each item, texts as quotations, so that
// they cannot imitate another item, and tools in code blocks.
func writeMarkdown(w *bufio.Writer, l *session.Loaded) error {
	m := l.Meta
	fmt.Fprintf(w, "# %s\n\n", inertLine(oneLine(titleOf(m))))
	for _, f := range factsOf(m) {
		fmt.Fprintf(w, "- %s: %s\n", f[0], codeSpan(f[1]))
	}
	for _, n := range l.Notices {
		fmt.Fprintf(w, "- %s\n", inertLine(oneLine(n)))
	}
	for i, e := range l.Items {
		it, err := e.Decode()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n## %d. %s%s\n", i+1, roleName(it.Role), whenOf(it.Time))
		for _, p := range it.Parts {
			markdownPart(w, p)
		}
	}
	return nil
}

func markdownPart(w *bufio.Writer, p transcript.Part) {
	switch p := p.(type) {
	case transcript.Text:
		quote(w, p.Text)
	case transcript.Thinking:
		if p.Text != "" {
			fmt.Fprint(w, "\n*thinking*\n")
			quote(w, p.Text)
		}
	case transcript.ToolUse:
		fmt.Fprintf(w, "\n**tool** %s\n", codeSpan(p.Name))
		fence(w, "json", indented(p.Input))
	case transcript.ToolResult:
		what := "result"
		if p.IsError {
			what = "error"
		}
		fmt.Fprintf(w, "\n**%s**\n", what)
		for _, q := range p.Content {
			if t, ok := q.(transcript.Text); ok {
				fence(w, "text", t.Text)
				continue
			}
			markdownPart(w, q)
		}
	case transcript.Structured:
		fence(w, "json", indented(p.Value))
	default:
		if s := partDescription(p); s != "" {
			fmt.Fprintf(w, "\n*%s*\n", inertLine(s))
		}
	}
}

// quote writes untrusted Markdown. HTML in it is shown as text.
func quote(w *bufio.Writer, s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	_ = w.WriteByte('\n')
	mark := "" // fence of the open code block
	for line := range strings.Lines(s) {
		line = visible(strings.TrimRight(line, "\r\n"))
		trimmed := strings.TrimLeft(line, " ")
		run := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		if strings.HasPrefix(trimmed, "~") {
			run = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "~"))]
		}
		indent := len(line) - len(trimmed)
		switch {
		case mark == "" && len(run) >= 3 && indent < 4 && !strings.Contains(trimmed[len(run):], "`"):
			mark = run
			line = strings.ReplaceAll(line, "<", "")
		case mark != "" && len(run) >= len(mark) && run[0] == mark[0] && indent < 4 && strings.TrimSpace(trimmed[len(run):]) == "":
			mark = ""
		case mark == "":
			line = inertLine(line)
		}
		fmt.Fprintf(w, "> %s\n", line)
	}
}

// inertLine escapes text that Markdown would read as HTML or as an image, except in code spans that
// end in the line.
func inertLine(s string) string {
	if !strings.ContainsAny(s, "<&!") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '`':
			n := codeEnd(s[i:])
			b.WriteString(s[i : i+n])
			i += n - 1
		case s[i] == '<':
			b.WriteString("&lt;")
		case s[i] == '&':
			b.WriteString("&amp;")
		case s[i] == '!' && strings.HasPrefix(s[i+1:], "["):
			b.WriteString(`\!`)
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// codeEnd returns the length of the code span at the start of s, or of its run of backticks if
// nothing ends it.
func codeEnd(s string) int {
	run := len(s) - len(strings.TrimLeft(s, "`"))
	for i := run; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if i += n; n == run {
			return i
		}
	}
	return run
}

// fence writes a code block with a fence that does not occur in its content.
func fence(w *bufio.Writer, language, s string) {
	mark := "```"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	s = strings.TrimRight(s, "\n")
	fmt.Fprintf(w, "\n%s%s\n", mark, language)
	for line := range strings.Lines(s + "\n") {
		_, _ = w.WriteString(visible(strings.TrimRight(line, "\r\n")) + "\n")
	}
	_, _ = w.WriteString(mark + "\n")
}

// codeSpan returns a one-line text as a code span.
func codeSpan(s string) string {
	s = visible(oneLine(s))
	mark := "`"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	if s == "" || strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return mark + s + mark
}

// visible replaces invisible characters and those that change the direction of text by visible
// ones.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "[U+%04X]", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hidden(r rune) bool { return r != '\t' && r != ' ' && r != '\n' && !unicode.IsPrint(r) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func titleOf(m session.Meta) string {
	for _, s := range []string{m.Title, m.Summary, m.FirstPrompt} {
		if s = oneLine(s); s != "" {
			return s
		}
	}
	return "Session " + m.ID
}

// factsOf returns the table of facts about a session that is shown above its transcript.
func factsOf(m session.Meta) [][2]string {
	list := [][2]string{
		{"session", m.ID},
		{"folder", m.CWD},
		{"branch", m.GitBranch},
		{"model", m.Model},
		{"tag", m.Tag},
		{"forked from", m.Parent},
		{"begun", m.CreatedAt.UTC().Format(minutes)},
		{"last entry", m.UpdatedAt.UTC().Format(minutes)},
		{"items", fmt.Sprint(m.MessageCount)},
	}
	return slices.DeleteFunc(list, func(f [2]string) bool { return f[1] == "" })
}

const minutes = "2006-01-02 15:04 UTC"

func whenOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " · " + t.UTC().Format(minutes)
}

func roleName(r transcript.Role) string {
	switch r {
	case transcript.RoleUser:
		return "User"
	case transcript.RoleAssistant:
		return "Assistant"
	case transcript.RoleTool:
		return "Tool"
	case transcript.RoleContext:
		return "Context"
	case transcript.RoleNotification:
		return "Notification"
	}
	return "System"
}

// partDescription returns a description of a part that is not shown, or "" if readers do not need
// one.
func partDescription(p transcript.Part) string {
	about := func(what, name, mime, uri string, data []byte) string {
		list := []string{what}
		for _, s := range []string{name, mime, uri} {
			if s != "" {
				list = append(list, visible(oneLine(s)))
			}
		}
		if len(data) > 0 {
			list = append(list, fmt.Sprintf("%d bytes", len(data)))
		}
		return strings.Join(list, ", ")
	}
	switch p := p.(type) {
	case transcript.Media:
		return about("media", p.Name, p.MIME, p.URI, p.Data)
	case transcript.File:
		return about("file", p.Name, p.MIME, p.URI, p.Data)
	case transcript.Custom:
		return about("not shown to models", p.Kind, "", "", nil)
	}
	return ""
}
