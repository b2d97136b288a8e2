package sandbox

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// parts returns the components of a path, without empty ones.
func parts(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(part string) bool { return part == "" || part == "." })
}

// patternBelow returns the part of a path's pattern below its folder, or nil if the pattern does not
// determine what is touched.
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

// mayMatch reports whether a path that matches the pattern can equal the given path or be inside it.
// Both are given by component. A star also matches hidden names.
func mayMatch(pattern, denied []string) bool {
	if len(pattern) < len(denied) {
		return false // every match is above the path
	}
	for i, part := range denied {
		if ok, err := path.Match(pattern[i], part); err == nil && !ok {
			return false
		}
	}
	return true
}
