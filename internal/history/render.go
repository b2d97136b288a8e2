package history

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/transcript"
)

// RenderOptions limits the output of [Render].
type RenderOptions struct {
	MaxBytes     int // maximum size of the text; 0 means 64 KiB
	MaxPartBytes int // maximum size of one part; 0 means 4 KiB
}

// Render writes a history as text for a model that cannot get the items themselves: each item in
// an element named after its role, oldest first. If the text is too long, Render drops the oldest
// items and writes their number. It escapes angle brackets and ampersands and makes control
// characters visible, so that content cannot close an element or imitate another speaker.
func Render(items []transcript.Encoded, o RenderOptions) string {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 64 << 10
	}
	if o.MaxPartBytes <= 0 {
		o.MaxPartBytes = 4 << 10
	}
	var blocks []string
	size, left := len(omitted(len(items))), 0
	for i, item := range slices.Backward(items) {
		b := renderItem(item, o.MaxPartBytes)
		if b == "" {
			continue
		}
		if size+len(b) > o.MaxBytes {
			left = i + 1
			if len(blocks) == 0 { // the text always has a part of the newest item
				blocks, left = []string{shorten(b, o.MaxBytes-size)}, i
			}
			break
		}
		size += len(b)
		blocks = append(blocks, b)
	}
	var out strings.Builder
	if left > 0 {
		out.WriteString(omitted(left))
	}
	for _, block := range slices.Backward(blocks) {
		out.WriteString(block)
	}
	return out.String()
}

func omitted(n int) string { return fmt.Sprintf("<omitted items=\"%d\"/>\n", n) }

// shorten cuts a rendered item to a number of bytes and keeps its element whole.
func shorten(block string, limit int) string {
	head, rest, _ := strings.Cut(block, "\n")
	tail := "… [cut]\n</" + head[1:] + "\n"
	limit = max(limit-len(head)-1-len(tail), 0)
	rest = strings.ToValidUTF8(rest[:min(limit, len(rest))], "")
	if i := strings.LastIndexByte(rest, '&'); i >= 0 && !strings.Contains(rest[i:], ";") {
		rest = rest[:i]
	}
	return head + "\n" + rest + tail
}

func renderItem(e transcript.Encoded, maxPart int) string {
	it, err := e.Decode()
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range it.Parts {
		renderPart(&b, p, maxPart)
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("<%s>\n%s</%s>\n", it.Role, b.String(), it.Role)
}

func renderPart(b *strings.Builder, p transcript.Part, maxPart int) {
	switch p := p.(type) {
	case transcript.Text:
		b.WriteString(escape(p.Text, maxPart))
		b.WriteByte('\n')
	case transcript.ToolUse:
		fmt.Fprintf(b, "[tool use %s %s] %s\n", escape(p.Name, 100), escape(p.ID, 100), escape(string(p.Input), maxPart))
	case transcript.ToolResult:
		state := "result"
		if p.IsError {
			state = "error"
		}
		fmt.Fprintf(b, "[tool %s %s] ", state, escape(p.UseID, 100))
		before := b.Len()
		for _, c := range p.Content {
			renderPart(b, c, maxPart)
		}
		if b.Len() == before {
			b.WriteByte('\n')
		}
	case transcript.Structured:
		b.WriteString(escape(string(p.Value), maxPart))
		b.WriteByte('\n')
	case transcript.Media:
		fmt.Fprintf(b, "[%s %d bytes %s]\n", escape(p.MIME, 100), len(p.Data), escape(p.URI, 200))
	case transcript.File:
		fmt.Fprintf(b, "[file %s %s %d bytes %s]\n", escape(p.Name, 200), escape(p.MIME, 100), len(p.Data), escape(p.URI, 200))
	}
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func escape(s string, limit int) string {
	if cut := len(s) - limit; cut > 0 {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = fmt.Sprintf("%s… [%d bytes left out]", s[:limit], len(s)-limit)
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return entities.Replace(s)
}
