package audit

import (
	_ "embed" // the page's style and script
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	paper "github.com/holdfast-dev/holdfast/internal/htmlpage"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// page writes one HTML page: a table with filters that work offline. Its content security
// policy allows only its own style and script.
type page struct {
	session string
	started bool
}

const pageHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Holdfast audit</title>
<style>%s</style>
</head>
<body>
<header><h1>Audit</h1><p>Who allowed what, on whose behalf, and with what outcome. Times are UTC.</p></header>
<form hidden>
<input type="search" name="text" placeholder="Search" aria-label="Search">
<select name="kind" aria-label="Kind"><option value="">every kind</option></select>
<select name="action" aria-label="Action"><option value="">every action</option></select>
<select name="actor" aria-label="Actor"><option value="">every actor</option></select>
<output></output>
</form>
<div class="wide"><table>
<thead><tr><th scope="col">Seq</th><th scope="col">Time</th><th scope="col">Kind</th><th scope="col">Action</th><th scope="col">By</th><th scope="col">What</th><th scope="col">Why and how</th></tr></thead>
`

func (p *page) begin(w io.Writer) error {
	style := paper.Style + pageStyle
	_, err := fmt.Fprintf(w, pageHead, paper.CSPHash(style), paper.CSPHash(pageScript), style)
	return err
}

func (p *page) end(w io.Writer) error {
	if p.started {
		if _, err := io.WriteString(w, "</tbody>\n"); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "</table></div>\n<script>%s</script>\n</body>\n</html>\n", pageScript)
	return err
}

func (p *page) entry(w io.Writer, e *Entry) error {
	var b strings.Builder
	if !p.started || e.Session != p.session {
		if p.started {
			b.WriteString("</tbody>\n")
		}
		p.started, p.session = true, e.Session
		fmt.Fprintf(&b, "<tbody>\n<tr class=\"session\"><th colspan=\"7\" scope=\"rowgroup\">session %s</th></tr>\n", paper.Escape(e.Session))
	}
	fmt.Fprintf(&b, `<tr class="e" data-kind="%s" data-action="%s" data-actor="%s">`,
		html.EscapeString(e.Kind), html.EscapeString(e.Action), html.EscapeString(e.Actor.Kind))
	fmt.Fprintf(&b, `<td class="n">%d</td><td class="t">%s</td><td class="k">%s</td>`, e.Seq, e.Time.UTC().Format("2006-01-02 15:04:05.000"), paper.Escape(e.Kind))
	fmt.Fprintf(&b, `<td class="k %s">%s</td>`, class(e.Action), paper.Escape(e.Action))
	fmt.Fprintf(&b, `<td>%s`, paper.Escape(e.Actor.String()))
	if e.OnBehalfOf != "" {
		fmt.Fprintf(&b, `<div class="dim">for %s</div>`, paper.Escape(e.OnBehalfOf))
	}
	if e.From != "" {
		fmt.Fprintf(&b, `<div class="dim">from %s</div>`, paper.Escape(e.From))
	}
	b.WriteString(`</td><td>`)
	if about := strings.TrimSpace(e.Event + " " + e.Tool); about != "" {
		fmt.Fprintf(&b, `<div>%s</div>`, paper.Escape(about))
	}
	if list := e.resources(); list != nil {
		fmt.Fprintf(&b, `<div class="what">%s</div>`, paper.Escape(strings.Join(list, "\n")))
	}
	b.WriteString(`</td><td>`)
	e.writeReason(&b)
	e.writeDetails(&b)
	b.WriteString("</td></tr>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *Entry) writeReason(b *strings.Builder) {
	if e.Outcome != "" {
		fmt.Fprintf(b, `<span class="%s">%s</span> `, class(e.Outcome), paper.Escape(e.Outcome))
	}
	if e.ExitCode != nil {
		fmt.Fprintf(b, `exit %d `, *e.ExitCode)
	}
	if e.Millis > 0 {
		fmt.Fprintf(b, `<span class="dim">%d ms</span> `, e.Millis)
	}
	if e.Erased {
		b.WriteString(`<span class="unknown">the content was erased</span> `)
	}
	if e.Reason != "" {
		fmt.Fprintf(b, `<div>%s</div>`, paper.Escape(e.Reason))
	}
	if e.Rule != nil {
		fmt.Fprintf(b, `<div><code>%s</code> <span class="dim">%s</span></div>`, paper.Escape(e.ruleText()), paper.Escape(e.rulePlace()))
	}
}

// writeDetails writes the remaining fields in a collapsed section.
func (e *Entry) writeDetails(b *strings.Builder) {
	b.WriteString(`<details><summary>proof</summary><dl>`)
	for _, f := range [...][2]string{
		{"call", e.Use},
		{"mode", e.Mode},
		{"sandbox", e.Sandbox},
		{"profile", e.Profile},
		{"question", e.Question},
		{"grant", e.Grant},
		{"changed", strings.Join(e.changes(), "\n")},
		{"hooks", strings.Join(e.hookLines(), "\n")},
		{"requests", strings.Join(e.Requests, "\n")},
		{"record", e.Record},
		{"prev", e.Prev},
		{"digest", e.Digest},
	} {
		if f[1] != "" {
			fmt.Fprintf(b, `<dt>%s</dt><dd>%s</dd>`, f[0], paper.Escape(f[1]))
		}
	}
	b.WriteString(`</dl></details>`)
}

func (e *Entry) hookLines() []string {
	var list []string
	for _, h := range e.Hooks {
		words := []string{h.Type + " " + h.Name, fmt.Sprintf("%d ms", h.Millis), h.Source, h.Effect, h.Reason, h.Error}
		list = append(list, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", "))
	}
	return list
}

// class returns a word as a CSS class, or "" for anything else.
func class(s string) string {
	for _, r := range s {
		if (r < 'a' || r > 'z') && r != '-' {
			return ""
		}
	}
	return s
}
