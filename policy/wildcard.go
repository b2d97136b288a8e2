package policy

import "strings"

// isPattern reports whether an entry of a list in this package is a pattern.
func isPattern(s string) bool { return strings.ContainsAny(s, "*?") }

func matchAny(patterns []string, text string) bool {
	for _, p := range patterns {
		if like(p, text) {
			return true
		}
	}
	return false
}

// matchAlternatives is like [like], for alternatives separated by "|".
func matchAlternatives(patterns, text string) bool {
	for p := range strings.SplitSeq(patterns, "|") {
		if like(p, text) {
			return true
		}
	}
	return false
}

// like compares a whole text with a pattern in which "*" matches any text and "?" any one byte. Its
// running time is proportional to the product of both lengths.
func like(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
