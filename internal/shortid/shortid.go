// Package shortid shortens ids to their first characters, for lists that a person reads and types
// from.
//
//	short := shortid.Of(ids, titles)
//	short["9375988f-28bc-4a9d-8e5c-afe4dbd55b49"] // "9375"
//
// Whoever looks up the short form must accept a unique prefix of an id.
package shortid

import (
	"slices"
	"unicode/utf8"
)

// Shortest is the minimum length of a short id. Shorter ones would soon be ambiguous.
const Shortest = 4

// Of returns the short form of each id: its shortest prefix that is no prefix of another id. A
// short form is never one of the words, because a lookup tries those first. An id without such a
// prefix keeps its full form.
func Of(ids, words []string) map[string]string {
	taken := make(map[string]bool, len(words))
	for _, w := range words {
		taken[w] = true
	}
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	short := make(map[string]string, len(sorted))
	for i, id := range sorted {
		n := Shortest
		if i > 0 {
			n = max(n, common(id, sorted[i-1])+1)
		}
		if i < len(sorted)-1 {
			n = max(n, common(id, sorted[i+1])+1)
		}
		for n < len(id) && (!utf8.RuneStart(id[n]) || taken[id[:n]]) {
			n++
		}
		short[id] = id[:min(n, len(id))]
	}
	return short
}

// common returns the length of the longest common prefix.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
