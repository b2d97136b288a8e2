package shellread

import (
	"path"
	"slices"
	"strings"
)

func cleanPath(p string) string { return path.Clean("/" + p) }

// likely is where a command would run: where it would be if all before it
// succeeded.
func likely(s *scope) string {
	if len(s.dirs) == 0 {
		return ""
	}
	return s.dirs[0]
}

// resolve adds a path that is used, once for every folder that it may be
// relative to.
func (f *frame) resolve(paths []Path, dirs []string, u use) []Path {
	if u.access != Exec && u.path.static && !u.path.glob && device(u.path.text) {
		return paths
	}
	if u.arg == "" {
		u.arg = u.path.text
	}
	p := Path{Arg: u.arg, Access: u.access, From: u.from, Tree: u.tree}
	add := func(p Path) {
		if !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	text := u.path.text
	if u.path.glob {
		text, p.Tree = globRoot(text), true
	}
	dots := strings.Contains(text, "..")
	switch {
	case !u.path.static || u.path.glob && text == "\x00":
		add(p)
	case path.IsAbs(text):
		p.Path = path.Clean(text)
		if dots {
			p.Raw = text
		}
		add(p)
	case dirs == nil:
		add(p)
	default:
		for _, d := range dirs {
			p.Path = path.Join(d, text)
			if dots {
				p.Raw = d + "/" + text
			}
			add(p)
		}
	}
	return paths
}

// device reports whether a name is no file: where output is thrown away or goes to
// what is open already.
func device(p string) bool {
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

// globRoot is the folder below which all matches of a pattern lie, or NUL when a
// ".." after the first pattern character leads out of it.
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
				return "\x00"
			}
			root := b.String()
			cut := strings.LastIndexByte(root, '/')
			// "..*" and ".?" may match ".."
			if last := root[cut+1:]; last == "." || last == ".." {
				return "\x00"
			}
			return root[:cut+1]
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func writes(paths []Path) bool {
	return slices.ContainsFunc(paths, func(p Path) bool { return p.Access&Write != 0 })
}
