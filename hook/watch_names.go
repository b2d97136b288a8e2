package hook

import (
	"slices"
	"strings"
)

// WatchedFiles are the files that matchers of FileChanged hooks name: each part between
// "|" that is a file's name and no expression. They are meant in the current directory.
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
