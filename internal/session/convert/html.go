package convert

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed" // the page's style
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/htmlpage"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

//go:embed page.css
var pageStyle string

const pageHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>%s</title>
<style>%s</style>
</head>
<body>
<header>
<h1>%s</h1>
<dl>`

// writeHTML writes a transcript as one page without scripts and without access to the network.
// Text of the transcript is always shown as text and never interpreted as HTML.
func writeHTML(w *bufio.Writer, l *session.Loaded) error {
	style := htmlpage.Style + pageStyle
	title := titleOf(l.Meta)
	fmt.Fprintf(w, pageHead, htmlpage.CSPHash(style), htmlpage.Escape(visible(title)), style, htmlpage.Escape(title))
	for _, f := range factsOf(l.Meta) {
		fmt.Fprintf(w, "<div><dt>%s</dt><dd>%s</dd></div>", f[0], htmlpage.Escape(f[1]))
	}
	_, _ = w.WriteString("</dl>\n</header>\n<main>\n")
	for _, n := range l.Notices {
		fmt.Fprintf(w, "<p class=\"notice\">%s</p>\n", htmlpage.Escape(n))
	}
	for i, e := range l.Items {
		it, err := e.Decode()
		if err != nil {
			return err
		}
		htmlItem(w, i+1, it)
	}
	if len(l.Items) == 0 {
		_, _ = w.WriteString("<p class=\"notice\">No messages yet.</p>\n")
	}
	_, err := w.WriteString("</main>\n<footer>Written by Holdfast. Times are UTC.</footer>\n</body>\n</html>\n")
	return err
}

func htmlItem(w *bufio.Writer, n int, it transcript.Item) {
	role := strings.ToLower(roleName(it.Role))
	fmt.Fprintf(w, "<article class=%q id=\"i%d\">\n<h2><a href=\"#i%d\">%s</a>", role, n, n, roleName(it.Role))
	if it.Role == transcript.RoleAssistant && it.Model != "" {
		fmt.Fprintf(w, " <span class=\"dim\">%s</span>", htmlpage.Escape(it.Model))
	}
	if !it.Time.IsZero() {
		fmt.Fprintf(w, " <time datetime=%q>%s</time>", it.Time.UTC().Format(isoMillis), it.Time.UTC().Format("2006-01-02 15:04:05"))
	}
	_, _ = w.WriteString("</h2>\n")
	for _, p := range it.Parts {
		htmlPart(w, p)
	}
	switch it.Finish {
	case transcript.FinishMaxTokens, transcript.FinishCancelled, transcript.FinishRefusal, transcript.FinishError:
		fmt.Fprintf(w, "<p class=\"notice\">ended by: %s</p>\n", htmlpage.Escape(strings.ReplaceAll(string(it.Finish), "_", " ")))
	}
	_, _ = w.WriteString("</article>\n")
}

func htmlPart(w *bufio.Writer, p transcript.Part) {
	switch p := p.(type) {
	case transcript.Text:
		if strings.TrimSpace(p.Text) != "" {
			fmt.Fprintf(w, "<div class=\"said\">%s</div>\n", htmlpage.Escape(strings.Trim(p.Text, "\n")))
		}
	case transcript.Thinking:
		if p.Text != "" {
			fmt.Fprintf(w, "<details><summary>thinking</summary><div class=\"said dim\">%s</div></details>\n", htmlpage.Escape(p.Text))
		}
	case transcript.ToolUse:
		fmt.Fprintf(w, "<details class=\"call\" open><summary><b>%s</b> %s</summary><pre>%s</pre></details>\n",
			htmlpage.Escape(p.Name), htmlpage.Escape(summaryLine(p.Input)), htmlpage.Escape(indented(p.Input)))
	case transcript.ToolResult:
		htmlResult(w, p)
	case transcript.Structured:
		fmt.Fprintf(w, "<pre>%s</pre>\n", htmlpage.Escape(indented(p.Value)))
	case transcript.Media:
		switch p.MIME {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			if len(p.Data) > 0 {
				fmt.Fprintf(w, "<img alt=\"%s\" src=\"data:%s;base64,%s\">\n", htmlpage.Escape(cmp.Or(p.Name, "image")), p.MIME, base64.StdEncoding.EncodeToString(p.Data))
				return
			}
		}
		fmt.Fprintf(w, "<p class=\"notice\">%s</p>\n", htmlpage.Escape(partDescription(p)))
	default:
		if s := partDescription(p); s != "" {
			fmt.Fprintf(w, "<p class=\"notice\">%s</p>\n", htmlpage.Escape(s))
		}
	}
}

// foldLines is the maximum number of lines of a result that is shown without being collapsed.
const foldLines = 12

func htmlResult(w *bufio.Writer, p transcript.ToolResult) {
	class, what := "result", "result"
	if p.IsError {
		class, what = "result failed", "error"
	}
	s := strings.TrimRight(transcript.Item{Parts: p.Content}.Text(), "\n")
	open := " open"
	if n := strings.Count(s, "\n") + 1; n > foldLines {
		open = ""
		what = fmt.Sprintf("%s, %d lines", what, n)
	}
	fmt.Fprintf(w, "<details class=%q%s><summary>%s</summary>", class, open, what)
	if s != "" {
		fmt.Fprintf(w, "<pre>%s</pre>", htmlpage.Escape(s))
	}
	for _, q := range p.Content {
		if _, isText := q.(transcript.Text); !isText {
			htmlPart(w, q)
		}
	}
	_, _ = w.WriteString("</details>\n")
}

// summaryLine returns a one-line summary of a call: the first short text of its input.
func summaryLine(input json.RawMessage) (s string) {
	members(input, func(_ string, v []byte) bool {
		if t, ok := str(v); ok && t != "" {
			s = oneLine(t)
		}
		return s == ""
	})
	if r := []rune(s); len(r) > 100 {
		s = string(r[:99]) + "…"
	}
	return s
}

// indented returns JSON with indentation, for display.
func indented(v json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, v, "", "  ") != nil {
		return string(v)
	}
	return b.String()
}
