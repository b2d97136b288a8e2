// Package truncate shortens texts from outside for messages.
//
//	truncate.String("a long text", 6) // "a long…"
package truncate

import "strings"

// String returns s if it has at most n bytes, and otherwise its first n bytes and "…". A
// character is not cut in half, and bytes that are not UTF-8 are left out then.
func String(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
