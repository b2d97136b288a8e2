package search

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignore is the content of one .gitignore, and those of the folders above it.
// A nil *ignore ignores nothing. It never changes after it was made.
type ignore struct {
	above *ignore
	base  string // the folder it lies in, relative to the root, "." for the root
	rules []rule
}

// rule is one line of a .gitignore.
type rule struct {
	glob     string // doublestar's syntax
	negated  bool
	dirOnly  bool
	anchored bool // matches the path below base, else the name alone
}

// parseIgnore reads a .gitignore that lies in base.
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
	if strings.HasSuffix(line, "/**") { // what is in it, not the folder itself
		line += "/*"
	}
	r.glob = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`).Replace(line)
	return r, line != "" && doublestar.ValidatePattern(r.glob)
}

// trimSpaces drops trailing spaces, but not an escaped one.
func trimSpaces(s string) string {
	for strings.HasSuffix(s, " ") && !strings.HasSuffix(s, `\ `) {
		s = s[:len(s)-1]
	}
	return s
}

// ignores says whether a path, relative to the root, is ignored. The last rule
// that matches decides, and deeper files come later. A path in an ignored folder
// is not asked about: nobody goes there.
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
