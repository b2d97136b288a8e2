package shellparse

import (
	"path"
	"slices"
	"strings"
)

func cleanPath(p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Clean("/" + p)
}

// join is like path.Join for a clean folder, but without unnecessary copies.
func join(dir, name string) string {
	name = strings.TrimPrefix(name, "./")
	if path.IsAbs(name) || dir == "/" || !isClean(name) {
		return path.Join(dir, name)
	}
	return dir + "/" + name
}

// isClean reports whether a relative path has no parts to remove.
func isClean(name string) bool {
	start := true
	for i := range len(name) {
		c := name[i]
		if start && (c == '/' || c == '.' && startsWithDots(name[i:])) {
			return false
		}
		start = c == '/'
	}
	return !start
}

// startsWithDots reports whether the first part of a path is "." or "..".
func startsWithDots(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first == "." || first == ".."
}

// hasDotDot reports whether a part of a path is "..".
func hasDotDot(name string) bool {
	return strings.HasPrefix(name, "../") || strings.HasSuffix(name, "/..") || name == ".." || strings.Contains(name, "/../")
}

// likelyDir returns the folder in which a command would run if all commands before it succeeded.
func likelyDir(s *scope) string {
	if len(s.dirs) == 0 {
		return ""
	}
	return s.dirs[0]
}

// resolve adds a path: for a relative path, once for every folder that may be the current
// directory.
func (f *frame) resolve(paths []Path, dirs []string, u use) []Path {
	if u.access != Exec && u.path.static && !u.path.glob && isOpenDevice(u.path.text) {
		return paths
	}
	if u.arg == "" {
		u.arg = u.path.text
	}
	if u.path.below != nil && !u.path.static {
		for _, root := range *u.path.below {
			inner := u
			inner.path, inner.tree = root, true
			paths = f.resolve(paths, dirs, inner)
		}
		return paths
	}
	p := Path{Arg: u.arg, Access: u.access, Source: u.from, Tree: u.tree || u.path.glob}
	text, pattern := u.path.text, ""
	if u.path.glob {
		if !u.tree && !strings.Contains(text, "..") {
			pattern = text
		}
		text = globRoot(text)
	}
	dots := hasDotDot(text)
	switch {
	case !u.path.static && isProcessSubstitution(text):
		return paths
	case !u.path.static || u.path.glob && text == unknownRoot:
	case path.IsAbs(text):
		p.Path, p.Pattern = path.Clean(text), pattern
		if dots {
			p.Raw = text
		}
	case dirs == nil:
	default:
		for _, d := range dirs {
			p.Path = join(d, text)
			if pattern != "" {
				p.Pattern = d + "/" + pattern
			}
			if dots {
				p.Raw = d + "/" + text
			}
			paths = addPath(paths, p)
		}
		return paths
	}
	return addPath(paths, p)
}

func addPath(paths []Path, p Path) []Path {
	for i := range paths {
		if q := &paths[i]; q.Path == p.Path && q.Access == p.Access && *q == p {
			return paths
		}
	}
	return append(paths, p)
}

// isProcessSubstitution reports whether a word is <( ) or >( ): a pipe to commands that were parsed, not a file.
func isProcessSubstitution(source string) bool {
	return len(source) > 2 && (source[0] == '<' || source[0] == '>') && source[1] == '(' && source[len(source)-1] == ')'
}

// isOpenDevice reports whether a name is a device that discards output, or is a file that is already
// open.
func isOpenDevice(p string) bool {
	if !strings.HasPrefix(p, "/dev/") {
		return false
	}
	switch p {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return true
	}
	n, ok := strings.CutPrefix(p, "/dev/fd/")
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}

// unknownRoot is the result of globRoot if the folder is unknown.
const unknownRoot = "\x00"

// globRoot returns the folder below which all matches of a pattern are. It returns unknownRoot if a
// match may be outside of that folder, because a part after the first pattern character is ".." or
// may match "..".
func globRoot(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '\\':
			if i++; i < len(pattern) {
				b.WriteByte(pattern[i])
			}
		case '*', '?', '[':
			if slices.Contains(strings.Split(pattern[i:], "/"), "..") || strings.Contains(pattern[i:], ".[") || strings.Contains(pattern[i:], ".?") {
				return unknownRoot
			}
			root := b.String()
			cut := strings.LastIndexByte(root, '/')
			// "..*" and ".?" may match ".."
			if last := root[cut+1:]; last == "." || last == ".." {
				return unknownRoot
			}
			return root[:cut+1]
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func anyWritten(paths []Path) bool {
	return slices.ContainsFunc(paths, func(p Path) bool { return p.Access&Write != 0 })
}
