// Package htmlpage has what HTML files share: escaping of text, and colors. The pages work without
// a network, and their content security policy allows only styles and scripts with listed digests.
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

// Style is the style of all pages, with colors for light and dark.
//
//go:embed page.css
var Style string

// CSPHash returns the digest of a style or script for a content security policy.
func CSPHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Escape escapes a text for HTML and shows invisible characters and characters that change the
// writing direction.
func Escape(s string) string {
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
