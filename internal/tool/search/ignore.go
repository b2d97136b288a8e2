package search

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignore contains the rules of one .gitignore and of the folders above it. A nil *ignore ignores
// nothing. It is immutable.
type ignore struct {
	above *ignore
	base  string // the folder of the .gitignore, relative to the root; "." for the root itself
	rules []rule
}

// rule is one line of a .gitignore.
type rule struct {
	glob     string // doublestar's syntax
	negated  bool
	dirOnly  bool
	anchored bool // matches the path below base; otherwise it matches only the name
}

// parseIgnore parses a .gitignore in the folder base.
func parseIgnore(above *ignore, base, content string) *ignore {
	ig := &ignore{above: above, base: base}
	for line := range strings.Lines(strings.TrimPrefix(content, "\uFEFF")) {
		if r, ok := parseRule(strings.TrimRight(line, "\r\n")); ok {
			ig.rules = append(ig.rules, r)
		}
	}
	if len(ig.rules) == 0 {
		return above
	}
	return ig
}

func parseRule(line string) (r rule, ok bool) {
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.negated, line = true, line[1:]
	}
	if rest, found := strings.CutSuffix(line, "/"); found && !strings.HasSuffix(rest, `\`) {
		r.dirOnly, line = true, rest
	}
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if strings.HasSuffix(line, "/**") { // matches the content of the folder, but not the folder itself
		line += "/*"
	}
	r.glob = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`).Replace(line)
	return r, line != "" && doublestar.ValidatePattern(r.glob)
}

// trimSpaces removes trailing spaces, but not an escaped one.
func trimSpaces(s string) string {
	for strings.HasSuffix(s, " ") && !strings.HasSuffix(s, `\ `) {
		s = s[:len(s)-1]
	}
	return s
}

// ignores reports whether a path, relative to the root, is ignored. The last matching rule decides.
// Rules of deeper folders come later than rules of their parents. Paths in an ignored folder are
// never checked, because the walk does not enter it.
func (ig *ignore) ignores(rel string, isDir bool) bool {
	for ; ig != nil; ig = ig.above {
		below := rel
		if ig.base != "." {
			var inside bool
			if below, inside = strings.CutPrefix(rel, ig.base+"/"); !inside {
				continue
			}
		}
		for _, r := range slices.Backward(ig.rules) {
			if r.matches(below, isDir) {
				return !r.negated
			}
		}
	}
	return false
}

func (r rule) matches(below string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if !r.anchored {
		below = path.Base(below)
	}
	return doublestar.MatchUnvalidated(r.glob, below)
}
