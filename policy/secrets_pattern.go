package policy

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// aimsAt reports whether an absolute shell pattern seems to target something on the list: ".en*",
// "id_rs?", "*.pem", "sec*/x". A general pattern ("*", "*.json", "s*") does not.
func (n *namedPaths) aimsAt(pattern string) bool {
	parts := strings.Split(strings.ToLower(pattern), "/")
	for i, part := range parts {
		if i == len(parts)-1 {
			return n.aimsAtFile(part)
		}
		for folder := range n.folders {
			if isSpecificName(part, folder) {
				return true
			}
		}
	}
	return false
}

func (n *namedPaths) aimsAtFile(part string) bool {
	if !wild(part) {
		return n.file(part)
	}
	if matchAny(n.not, part) {
		return false
	}
	for name := range n.exact {
		if isSpecificName(part, name) {
			return true
		}
	}
	for _, p := range n.pattern {
		start, end, _ := strings.Cut(p, "*")
		switch {
		case start == "": // compared with the end of the name, as in "*.pem"
			kind := part[strings.LastIndexByte(part, '.')+1:]
			if ok, err := doublestar.Match(kind, strings.TrimPrefix(end, ".")); kind != part && err == nil && ok && strings.Trim(kind, "*") != "" {
				return true
			}
		case !isSpecific(part):
		default:
			lead, tail := part[:strings.IndexAny(part, special)], nameEnd(part)
			if (strings.HasPrefix(lead, start) || strings.HasPrefix(start, lead)) && (strings.HasSuffix(tail, end) || strings.HasSuffix(end, tail)) {
				return true
			}
		}
	}
	return false
}

func isSpecificName(part, name string) bool {
	if part == name || !wild(part) || !isSpecific(part) {
		return part == name
	}
	ok, err := doublestar.Match(part, name)
	return err == nil && ok
}

// isSpecific reports whether a pattern begins with enough characters to mean a certain file: two
// characters, or a dot.
func isSpecific(part string) bool {
	lead := strings.IndexAny(part, special)
	return lead >= 2 || lead == 1 && part[0] == '.'
}
