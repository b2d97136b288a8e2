// Package truncate shortens untrusted text for messages.
//
//	truncate.String("a long text", 6) // "a long…"
package truncate

import "strings"

// String returns s if it has at most n bytes, and otherwise its first n bytes and "…". It does not split a
// character; when it shortens s, it also removes invalid UTF-8.
func String(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
