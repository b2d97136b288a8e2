package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/holdfast-dev/holdfast/internal/patterns"
)

// glob matches absolute, clean paths. It is a folder, compared by its letters, and
// a pattern below it, so that a folder whose name holds a "*" or a "[" is no
// pattern, and most paths are told apart before a pattern is looked at.
//
//	Edit(src/**/*.go) at /w  =  base "/w/src"  pattern "**/*.go"
//
// Letters are compared exactly. "dir/**" matches dir and everything below it,
// "{a,b}" is either, "[a-z]" one letter of a class, and "\" takes a letter's
// special meaning away.
type glob struct {
	text    string
	origin  *Origin // where it was written, when that is known
	base    string  // absolute, clean, literal
	pattern string  // below base; "" is base itself
	deeper  string  // pattern + "/**" when everything below a match matches too, else ""
	needle  string  // a text that every match holds below base; it is looked for first
	literal bool    // pattern has no special letters
	below   bool
}

// span says which paths a pattern matches beyond its letters.
type span struct {
	deep  bool // at any depth below the folder
	below bool // everything below a match, too
}

var errNoFolder = errors.New("the folder that it is relative to is not known")

// pathGlob reads a pattern of settings and patches: absolute, below "~/", or
// relative to cwd. One that starts with "**/" means any folder of the file system
// when it is to keep something away, and any below cwd otherwise.
func pathGlob(text, cwd, home string, forbids bool) (glob, error) {
	below := span{below: forbids || !wild(lastSegment(text))}
	switch {
	case text == "":
		return glob{}, errors.New("a pattern must not be empty")
	case strings.HasPrefix(text, "!"):
		return glob{}, errors.New(`a pattern cannot start with "!"`)
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
		return glob{}, errors.New("a pattern cannot hold a NUL byte")
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
				return glob{}, fmt.Errorf("%q has a part %q behind a wildcard", pattern, seg)
			}
		}
		if g.below {
			g.deeper = g.pattern + "/**"
		}
		g.needle = needle(g.pattern)
		return g, nil
	}
	// Without special letters the whole pattern is a path.
	g.base, g.pattern, g.literal = path.Join(g.base, g.pattern), "", true
	return g, nil
}

// follow returns the glob at the place that its folder leads to, when there are
// links on the way: what is compared with it has none. What keeps something away
// holds in both places.
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
	case rest == "": // a star stands for a name, and this has none
		return strings.HasPrefix(g.pattern, "**") && strings.Trim(g.pattern, "*/") == ""
	case !strings.Contains(rest, g.needle):
		return false
	}
	return doublestar.MatchUnvalidated(g.pattern, rest) ||
		g.deeper != "" && doublestar.MatchUnvalidated(g.deeper, rest)
}

// needle is the longest text without special letters and slashes in a pattern of
// stars; "" where there is none, or where alternatives or classes make that unclear.
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

// reaches says whether something below a folder may match: certainly is about a
// literal folder or file of the pattern that lies in the tree.
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
	// Compare as many parts as the tree has.
	depth := strings.Count(rest, "/") + 1
	parts := strings.SplitN(g.pattern, "/", depth+1)
	if len(parts) <= depth {
		return false, g.match(tree)
	}
	return false, doublestar.MatchUnvalidated(strings.Join(parts[:depth], "/"), rest)
}

// disjoint reports whether a word of a command in which stars stand for names in
// dir cannot lead to what the glob matches: "*.go" is neither ".env" nor "id.key"
// nor anything in "secrets/". A word whose names may be folders ("*", "x*") leads
// everywhere unless a literal part of the glob says otherwise.
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
		case strings.HasPrefix(part, ".") && wild(name[:1]): // a star is no dot at the start of a name
		case strings.HasSuffix(end, mine), strings.HasSuffix(mine, end):
			return false
		}
	}
	return true
}

// nameEnd is what stands behind the last special letter.
func nameEnd(pattern string) string {
	return pattern[strings.LastIndexAny(pattern, special+"]}")+1:]
}

// under returns what of p is below dir: "" is dir itself.
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

// splitLiteral takes the leading parts of a pattern without special letters off.
// A pattern without any is literal as a whole; its escapes are taken away.
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

// wild reports whether a pattern has special letters. An escape counts: what it
// hides is compared by the matcher.
func wild(pattern string) bool { return strings.ContainsAny(pattern, special) }

func lastSegment(pattern string) string {
	return pattern[strings.LastIndexByte(pattern, '/')+1:]
}
