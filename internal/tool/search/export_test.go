package search

import (
	"path"
	"strings"
)

// NarrowAlways makes ripgrep filter every search, however small.
func NarrowAlways(s *Search) { s.ripgrepMin = 0 }

// Ripgrep returns the program found, or "none".
func Ripgrep(s *Search) string { return s.ripgrep }

// Ignored runs the .gitignore matcher as a walk would: from the top down, with
// the files given by the folder they lie in.
func Ignored(files map[string]string, rel string, isDir bool) bool {
	var ig *ignore
	at := "."
	for {
		if content, ok := files[at]; ok {
			ig = parseIgnore(ig, at, content)
		}
		next, last := child(at, rel)
		if ig.ignores(next, isDir || !last) {
			return true
		}
		if last {
			return false
		}
		at = next
	}
}

func child(at, rel string) (next string, last bool) {
	below := rel
	if at != "." {
		below = strings.TrimPrefix(rel, at+"/")
	}
	name, _, more := strings.Cut(below, "/")
	return path.Join(at, name), !more
}
