package audit

import (
	"io"
	"strconv"
	"strings"
	"time"
)

// column is one column of the table: its title, and a function that returns its value for an entry.
type column struct {
	name string
	// safe: the text is made by this package. Any other text may be an attack on the spreadsheet
	// program.
	safe bool
	text func(*Entry) string
}

var columns = []column{
	{"session", false, func(e *Entry) string { return e.Session }},
	{"seq", true, func(e *Entry) string { return strconv.FormatInt(e.Seq, 10) }},
	{"time", true, func(e *Entry) string { return e.Time.Format(time.RFC3339Nano) }},
	{"kind", true, func(e *Entry) string { return e.Kind }},
	{"action", false, func(e *Entry) string { return e.Action }},
	{"actor_kind", true, func(e *Entry) string { return e.Actor.Kind }},
	{"actor", false, func(e *Entry) string { return e.Actor.Name }},
	{"via", false, func(e *Entry) string { return e.Actor.Via }},
	{"on_behalf", false, func(e *Entry) string { return e.OnBehalfOf }},
	{"use_id", false, func(e *Entry) string { return e.Use }},
	{"tool", false, func(e *Entry) string { return e.Tool }},
	{"event", false, func(e *Entry) string { return e.Event }},
	{"resources", false, func(e *Entry) string { return strings.Join(e.resources(), "\n") }},
	{"requests", false, func(e *Entry) string { return strings.Join(e.Requests, "\n") }},
	{"rule", false, func(e *Entry) string { return e.ruleText() }},
	{"rule_at", false, func(e *Entry) string { return e.rulePlace() }},
	{"mode", false, func(e *Entry) string { return e.Mode }},
	{"reason", false, func(e *Entry) string { return e.Reason }},
	{"sandbox", false, func(e *Entry) string { return e.Sandbox }},
	{"sandbox_profile", false, func(e *Entry) string { return e.Profile }},
	{"question", false, func(e *Entry) string { return e.Question }},
	{"grant", false, func(e *Entry) string { return e.Grant }},
	{"outcome", false, func(e *Entry) string { return e.Outcome }},
	{"exit_code", true, func(e *Entry) string { return optional(e.ExitCode) }},
	{"ms", true, func(e *Entry) string { return strconv.FormatInt(e.Millis, 10) }},
	{"changes", false, func(e *Entry) string { return strings.Join(e.changes(), "\n") }},
	{"from", false, func(e *Entry) string { return e.From }},
	{"erased", true, func(e *Entry) string { return strconv.FormatBool(e.Erased) }},
	{"record", true, func(e *Entry) string { return e.Record }},
	{"prev", true, func(e *Entry) string { return e.Prev }},
	{"digest", true, func(e *Entry) string { return e.Digest }},
}

func optional(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// table writes comma-separated values (RFC 4180).
type table struct{}

func (table) begin(w io.Writer) error {
	return row(w, func(c column) string { return c.name })
}

func (table) entry(w io.Writer, e *Entry) error {
	return row(w, func(c column) string {
		if c.safe {
			return c.text(e)
		}
		return inert(c.text(e))
	})
}

func (table) end(io.Writer) error { return nil }

func row(w io.Writer, text func(column) string) error {
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(cell(text(c)))
	}
	b.WriteString("\r\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// inert prevents a spreadsheet from computing a text as a formula: it puts an apostrophe in front
// of the text, which makes it plain text. Spreadsheets skip spaces and invisible characters, and
// accept full-width forms of = and of the other signs that start a formula.
func inert(s string) string {
	first := strings.TrimLeftFunc(s, func(r rune) bool {
		return r <= ' ' || r == '\u00a0' || r == '\u3000' || r == '\ufeff' || r >= '\u200b' && r <= '\u200f'
	})
	if first == "" {
		if strings.ContainsAny(s, "\t\r\n") {
			return "'" + s
		}
		return s
	}
	r := []rune(first[:min(len(first), 4)])[0]
	if strings.ContainsRune("=+-@|%\uff1d\uff0b\uff0d\uff20\u2212", r) || s[0] == '\t' || s[0] == '\r' || s[0] == '\n' {
		return "'" + s
	}
	return s
}

// cell quotes a text if necessary.
func cell(s string) string {
	if !strings.ContainsAny(s, ",\"\r\n") && strings.TrimSpace(s) == s {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
