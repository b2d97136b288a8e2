// Package htmlpage has what the HTML pages that are written to files share: text that
// cannot become anything else, and the colours. They work without a network, and their
// content security policy lets nothing run or load but what it names by its digest.
package htmlpage

import (
	"crypto/sha256"
	_ "embed" // the style
	"encoding/base64"
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style has the colours, for light and dark, and what goes for any page.
//
//go:embed page.css
var Style string

// Source is a style or a script as a content security policy names it.
func Source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Text escapes a text for HTML and shows what would be invisible, or would turn the
// direction of writing.
func Text(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < utf8.RuneSelf && strings.ContainsRune(`<>&'"`, r):
			b.WriteString(html.EscapeString(string(r)))
		case !unicode.IsPrint(r) && r != ' ':
			fmt.Fprintf(&b, `<span class="bad">U+%04X</span>`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
