package hook

import (
	"slices"
	"strings"
)

// WatchedFiles returns the file names in matchers of FileChanged hooks: the parts between "|" that
// are plain file names. Expressions and paths with a folder are not returned. The names are
// relative to the current directory.
func (r *Registry) WatchedFiles() []string {
	if r == nil {
		return nil
	}
	var names []string
	for _, e := range r.of(FileChanged) {
		for name := range strings.SplitSeq(e.Matcher, "|") {
			name = strings.TrimSpace(name)
			if e.Dialect == dialectSeed {
				name = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(name, "^"), "$"), `\.`, ".")
			}
			if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\*?+()[]{}^$`) || slices.Contains(names, name) {
				continue
			}
			names = append(names, name)
		}
	}
	return names
}
