package sandbox

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// parts are the components of a path, without empty ones.
func parts(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(part string) bool { return part == "" || part == "." })
}

// patternBelow is what of a path's pattern is below its folder, or nil when the
// pattern does not say what is touched.
func patternBelow(p *shellparse.Path) []string {
	if p.Pattern == "" || strings.ContainsAny(p.Pattern, "[\\()") || strings.Contains(p.Pattern, "**") {
		return nil
	}
	all, root := parts(p.Pattern), parts(p.Path)
	if len(all) <= len(root) || !slices.Equal(all[:len(root)], root) {
		return nil
	}
	return all[len(root):]
}

// mayMatch reports whether something that matches a pattern is a path or lies in
// it. Both are given part by part. A star is taken to match hidden names, too.
func mayMatch(pattern, denied []string) bool {
	if len(pattern) < len(denied) {
		return false // what matches lies above
	}
	for i, part := range denied {
		if ok, err := path.Match(pattern[i], part); err == nil && !ok {
			return false
		}
	}
	return true
}
