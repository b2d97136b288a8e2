// Package shortid shortens ids for lists that a person reads and types from, and finds what a short
// id means.
//
//	short := shortid.Of(ids, titles)
//	short["9375988f-28bc-4a9d-8e5c-afe4dbd55b49"] // "9375", its first characters
//	short["run_01m8j190595dpdphmeznysrrd2"]       // "rrd2", its last ones
//
// Ids that begin with a time share their first characters, so that a unique prefix is long. Their
// short form is the end, which is random.
package shortid

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Shortest is the minimum length of a short id. Shorter ones would soon be ambiguous.
const Shortest = 4

// longPrefix is the length from which a prefix is too long if there is a shorter suffix.
const longPrefix = 9

// Of returns the short form of each id: its shortest prefix that is no prefix of another id, or a
// suffix if that prefix is long. [Find] finds exactly this id for the short form. A short form is
// never one of the words, because a lookup tries those first. An id without such a form keeps its
// full form.
func Of(ids, words []string) map[string]string {
	taken := make(map[string]bool, len(words))
	for _, w := range words {
		taken[w] = true
	}
	prefixes := unique(ids, taken)
	short, long := make(map[string]string, len(ids)), false
	for id, prefix := range prefixes {
		short[id] = prefix
		long = long || len(prefix) >= longPrefix
	}
	if !long {
		return short
	}
	var turned []string
	for _, id := range ids {
		turned = append(turned, reverse(id))
	}
	sorted := slices.Sorted(slices.Values(ids))
	for back, end := range unique(turned, nil) {
		id, suffix := reverse(back), reverse(end)
		if len(short[id]) >= longPrefix && len(suffix) < len(short[id]) && !taken[suffix] && !hasPrefix(sorted, suffix) && isASCII(suffix) {
			short[id] = suffix
		}
	}
	return short
}

// Find returns the elements whose id begins with name. If there is none, it returns those whose id
// ends with name.
func Find[T any](all []T, id func(T) string, name string) (found []T) {
	for _, e := range all {
		if strings.HasPrefix(id(e), name) {
			found = append(found, e)
		}
	}
	if len(found) > 0 || len(name) < Shortest {
		return found
	}
	for _, e := range all {
		if strings.HasSuffix(id(e), name) {
			found = append(found, e)
		}
	}
	return found
}

// unique returns the shortest unique prefix of each id, or the id itself.
func unique(ids []string, taken map[string]bool) map[string]string {
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
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

func hasPrefix(sorted []string, prefix string) bool {
	i, _ := slices.BinarySearch(sorted, prefix)
	return i < len(sorted) && strings.HasPrefix(sorted[i], prefix)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// common returns the length of the longest common prefix.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
