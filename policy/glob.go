package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/holdfast-dev/holdfast/internal/patterns"
)

// glob matches absolute, clean paths. It consists of a folder, which is compared literally, and a
// pattern for the paths below it. Therefore, a "*" or a "[" in the name of a folder is not a
// pattern, and most paths are excluded before the pattern is compared.
//
//	Edit(src/**/*.go) at /w  =  base "/w/src"  pattern "**/*.go"
//
// Comparison is case-sensitive. "dir/**" matches dir and everything below it, "{a,b}" matches
// either a or b, "[a-z]" matches one character of a class, and "\" escapes a special character.
type glob struct {
	text    string
	origin  *Origin // position where the glob was written, if known
	base    string  // absolute, clean, literal
	pattern string  // pattern below base; "" is base itself
	deeper  string  // pattern + "/**" when everything below a match matches too, else ""
	needle  string  // text that every match contains below base; match checks it first
	literal bool    // pattern has no special characters
	below   bool
}

// span defines which other paths a pattern matches besides those that its text names.
type span struct {
	deep  bool // the pattern matches at any depth below the folder
	below bool // everything below a match, too
}

var errNoFolder = errors.New("the base folder of the relative path is not known")

// pathGlob parses a pattern from settings and patches: absolute, below "~/", or relative to cwd. In
// a deny pattern, a leading "**/" means any folder of the file system. In other patterns it means
// any folder below cwd.
func pathGlob(text, cwd, home string, forbids bool) (glob, error) {
	below := span{below: forbids || !wild(lastSegment(text))}
	switch {
	case text == "":
		return glob{}, errors.New("a pattern must not be empty")
	case strings.HasPrefix(text, "!"):
		return glob{}, errors.New(`a pattern must not start with "!"`)
	case strings.HasPrefix(text, "/"):
		return newGlob(text, "/", text[1:], below)
	case text == "~" || strings.HasPrefix(text, "~/"):
		return newGlob(text, home, strings.TrimPrefix(text[1:], "/"), below)
	case forbids && strings.HasPrefix(text, "**/"):
		return newGlob(text, "/", text, below)
	}
	return newGlob(text, cwd, strings.TrimPrefix(text, "./"), below)
}

// newGlob compiles pattern, which is relative to base.
func newGlob(text, base, pattern string, s span) (glob, error) {
	if !path.IsAbs(base) {
		return glob{}, errNoFolder
	}
	if strings.ContainsRune(pattern, 0) {
		return glob{}, errors.New("a pattern must not contain a NUL byte")
	}
	g := glob{text: text, below: s.below}
	if dir := strings.TrimRight(pattern, "/"); dir != pattern {
		pattern, g.below = dir, true
	}
	if err := patterns.CheckGlob(pattern); err != nil {
		return glob{}, err
	}
	if s.deep {
		g.base, g.pattern = path.Clean(base), "**/"+pattern
	} else {
		folder, rest := splitLiteral(pattern)
		g.base, g.pattern = path.Join(base, folder), rest
	}
	if wild(g.pattern) {
		for seg := range strings.SplitSeq(g.pattern, "/") {
			if seg == ".." || seg == "." || seg == "" {
				return glob{}, fmt.Errorf("%q has a part %q after a wildcard", pattern, seg)
			}
		}
		if g.below {
			g.deeper = g.pattern + "/**"
		}
		g.needle = needle(g.pattern)
		return g, nil
	}
	// Without special characters, the whole pattern is a path.
	g.base, g.pattern, g.literal = path.Join(g.base, g.pattern), "", true
	return g, nil
}

// follow returns the glob with the links in its folder resolved, because compared paths have no
// links, and reports whether there was a link. A deny applies to both globs.
func (g *glob) follow(resolve func(string) string) (glob, bool) {
	if resolve == nil {
		return glob{}, false
	}
	to := *g
	to.base = resolved(g.base, resolve)
	return to, to.base != g.base
}

// match reports whether the glob matches an absolute, clean path.
func (g *glob) match(p string) bool {
	rest, ok := under(g.base, p)
	switch {
	case !ok:
		return false
	case g.literal:
		return rest == "" || g.below
	case rest == "": // a star must match a name, and this path has none
		return strings.HasPrefix(g.pattern, "**") && strings.Trim(g.pattern, "*/") == ""
	case !strings.Contains(rest, g.needle):
		return false
	}
	return doublestar.MatchUnvalidated(g.pattern, rest) ||
		g.deeper != "" && doublestar.MatchUnvalidated(g.deeper, rest)
}

// needle returns the longest text without special characters and slashes in a pattern with stars.
// It returns "" if there is no such text, or if alternatives, classes or escapes make it ambiguous.
func needle(pattern string) string {
	longest := ""
	if strings.ContainsAny(pattern, `{[\`) {
		return ""
	}
	for part := range strings.FieldsFuncSeq(pattern, func(c rune) bool { return c == '*' || c == '?' || c == '/' }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// reaches reports whether something below a folder may match. The second result is true if a
// literal folder or file of the pattern is certainly in the tree.
func (g *glob) reaches(tree string) (certainly, perhaps bool) {
	if tree == "" {
		return false, true
	}
	if _, in := under(tree, g.base); in {
		return true, true
	}
	rest, in := under(g.base, tree)
	if !in || g.literal {
		return false, in && g.below
	}
	if strings.Contains(g.pattern, "**") || strings.Contains(g.pattern, "{") {
		return false, true
	}
	// Compare as many parts of the pattern as the tree has below base.
	depth := strings.Count(rest, "/") + 1
	parts := strings.SplitN(g.pattern, "/", depth+1)
	if len(parts) <= depth {
		return false, g.match(tree)
	}
	return false, doublestar.MatchUnvalidated(strings.Join(parts[:depth], "/"), rest)
}

// disjoint reports whether a word with stars, whose matches are in dir, cannot expand to anything
// that the glob matches. For example, "*.go" cannot expand to ".env", to "id.key" or to anything in
// "secrets/". A word that may match folders ("*", "x*") can reach anything unless a literal part of
// the glob excludes it.
func (g *glob) disjoint(dir, arg string) bool {
	name := lastSegment(arg)
	if !wild(name) || wild(arg[:len(arg)-len(name)]) {
		return false
	}
	if rest, in := under(dir, g.base); in && rest != "" {
		child, _, _ := strings.Cut(rest, "/")
		ok, err := doublestar.Match(name, child)
		return err == nil && !ok
	}
	end := nameEnd(name)
	if dot := strings.LastIndexByte(end, '.'); dot < 0 || dot == len(end)-1 {
		return false // may be a folder
	}
	for part := range strings.SplitSeq(g.pattern, "/") {
		switch mine := nameEnd(part); {
		case part == "**":
		case strings.HasPrefix(part, ".") && wild(name[:1]): // a star does not match a dot at the beginning of a name
		case strings.HasSuffix(end, mine), strings.HasSuffix(mine, end):
			return false
		}
	}
	return true
}

// nameEnd returns the text after the last special character.
func nameEnd(pattern string) string {
	return pattern[strings.LastIndexAny(pattern, special+"]}")+1:]
}

// under returns the part of p below dir; "" is dir itself.
func under(dir, p string) (rest string, ok bool) {
	switch {
	case dir == "/":
		return strings.TrimPrefix(p, "/"), strings.HasPrefix(p, "/")
	case !strings.HasPrefix(p, dir):
		return "", false
	case len(p) == len(dir):
		return "", true
	case p[len(dir)] != '/':
		return "", false
	}
	return p[len(dir)+1:], true
}

// splitLiteral splits off the leading folders of a pattern, up to the first part with a special
// character. If the pattern has no special characters, it is all returned as rest.
func splitLiteral(pattern string) (folder, rest string) {
	if !wild(pattern) {
		return "", pattern
	}
	first := strings.IndexAny(pattern, special)
	cut := strings.LastIndexByte(pattern[:first], '/')
	if cut < 0 {
		return "", pattern
	}
	return pattern[:cut], pattern[cut+1:]
}

const special = `*?[{\`

// wild reports whether a pattern has special characters. An escape is a special character, because
// only the matcher interprets it.
func wild(pattern string) bool { return strings.ContainsAny(pattern, special) }

func lastSegment(pattern string) string {
	return pattern[strings.LastIndexByte(pattern, '/')+1:]
}
