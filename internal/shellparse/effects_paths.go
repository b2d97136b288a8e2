package shellparse

import (
	"path"
	"strings"
)

// applyRole applies a role to a word.
func (c *call) applyRole(w word, arg string, r role) {
	switch r {
	case roleData, roleSub, roleSelf, roleCommand:
	case roleRead:
		c.addPath(w, arg, Read, FromArgument, false)
	case roleReadAll:
		c.addPath(w, arg, Read, FromArgument, true)
	case roleWrite:
		c.addPath(w, arg, Write, FromArgument, false)
	case roleWipe:
		c.addPath(w, arg, Write, FromArgument, true)
	case roleEdit:
		c.addPath(w, arg, Read|Write, FromArgument, false)
	case roleEditAll:
		c.addPath(w, arg, Read|Write, FromArgument, true)
	case roleCode:
		if namesStdin(w) {
			c.inputCode()
			return
		}
		c.checkGeneratedCode(w)
		c.addPath(w, arg, Read|Exec, FromArgument, false)
		c.opaque("runs " + w.text)
	case roleDir:
		c.moveTo(w)
		c.addPath(workingDir, arg, Read, FromArgument, false)
	case roleLine:
		c.runLine(w, c.via, c.inv.in)
	case roleUnclear:
		c.out.unclear = "cannot determine what " + c.via + " " + arg + " runs"
	case roleOpaque:
		c.opaque(c.via + " " + arg + " has effects that the command line does not show")
	case roleRemote, roleRemoteW:
		c.addRemote(w, arg, r)
	case roleMount:
		c.addMount(w, arg)
	case roleUpload:
		c.addUpload(w, arg)
	case roleShape:
		c.addPathLike(w, false)
	}
}

func (c *call) opaque(why string) {
	if c.out.opaque == "" {
		c.out.opaque = why
	}
}

// moveTo sets the program's working folder. If it is set twice, the second folder is relative to
// the first.
func (c *call) moveTo(w word) {
	if old := c.out.moveTo; old != nil && !strings.HasPrefix(w.text, "/") {
		w = word{text: old.text + "/" + w.text, static: old.static && w.static}
	}
	c.out.moveTo = &w
}

// isDiscard contains names of files that a write does not change.
func isDiscard(p string) bool {
	switch p {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/random", "/dev/urandom":
		return true
	}
	return strings.HasPrefix(p, "/dev/fd/")
}

func (c *call) addPath(w word, arg string, access Access, from PathSource, tree bool) {
	if w.static && (w.text == "" || w.text == "-" || access&Exec == 0 && isDiscard(w.text)) {
		return
	}
	if w.static && strings.HasPrefix(w.text, "file://") {
		w.text = fileURL(w.text)
	}
	c.out.paths = append(c.out.paths, use{path: w, arg: arg, access: access, from: from, tree: tree})
}

func fileURL(u string) string {
	rest := strings.TrimPrefix(u, "file://")
	if i := strings.IndexByte(rest, '/'); i > 0 {
		return rest[i:] // file://localhost/x
	}
	return rest
}

// addPathLike adds a word if it looks like a path or if its value does. With guess, it also adds plain
// words.
func (c *call) addPathLike(w word, guess bool) {
	t := w.text
	if !w.static {
		if len(t) == 0 || t[0] != '-' {
			c.addPath(w, t, Read, FromSyntax, false)
		}
		return
	}
	value := t
	if len(t) > 0 && t[0] == '-' {
		_, v, ok := strings.Cut(t, "=")
		switch {
		case ok:
			value = v
		case len(t) > 2 && t[1] != '-' && looksLikePath(t[2:]):
			value = t[2:]
		default:
			return
		}
	} else if k, v, ok := strings.Cut(t, "="); ok && !strings.Contains(k, "/") && (looksLikePath(v) || strings.HasPrefix(v, "file:")) {
		value = v
	}
	value = strings.TrimPrefix(value, "@")
	if strings.HasPrefix(value, "file://") {
		value = fileURL(value)
	}
	if value == "" || strings.Contains(value, "://") {
		return
	}
	from := FromSyntax
	if !looksLikePath(value) {
		if !guess {
			return
		}
		from = FromGuess
	}
	c.addPath(word{text: value, static: true, glob: w.glob}, t, Read, from, false)
	if strings.IndexByte("/~.", value[0]) >= 0 && strings.Contains(value, ":") {
		for part := range strings.SplitSeq(value, ":") {
			if looksLikePath(part) {
				c.addPath(word{text: part, static: true}, t, Read, FromSyntax, false)
			}
		}
	}
}

func looksLikePath(s string) bool {
	return s != "" && (s[0] == '.' || s[0] == '~' || strings.Contains(s, "/"))
}

// addRemote adds a word of a program that copies between machines, if the word names a local file.
func (c *call) addRemote(w word, arg string, r role) {
	if host, _, ok := strings.Cut(w.text, ":"); ok && !strings.Contains(host, "/") || strings.Contains(w.text, "://") {
		return
	}
	if r == roleRemoteW {
		c.addPath(w, arg, Write, FromArgument, true)
	} else {
		c.addPath(w, arg, Read, FromArgument, true)
	}
}

// addMount adds the local folder to which a container gets access.
func (c *call) addMount(w word, arg string) {
	host, rest, ok := strings.Cut(w.text, ":")
	if !ok && w.static || ok && !strings.HasPrefix(host, "$") && w.static && !looksLikePath(host) {
		return // a named volume
	}
	access := Read | Write
	if _, opts, ok := strings.Cut(rest, ":"); ok && strings.HasPrefix(opts, "ro") {
		access = Read
	}
	c.addPath(word{text: host, static: w.static}, arg, access, FromArgument, true)
}

// addUpload adds the file of an @file in curl's data.
func (c *call) addUpload(w word, arg string) {
	t := w.text
	for _, mark := range []string{"=@", "=<", "@", "<"} {
		if before, file, ok := strings.Cut(t, mark); ok && (before == "" || len(mark) == 2 || mark == "@" && isVariableName(before)) {
			file, _, _ = strings.Cut(file, ";")
			c.addPath(word{text: file, static: w.static}, arg, Read, FromArgument, false)
			return
		}
	}
}

// isVariableName reports whether s is a valid variable name.
func isVariableName(s string) bool {
	for i := range len(s) {
		b := s[i]
		if b != '_' && (b|0x20 < 'a' || b|0x20 > 'z') && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return s != ""
}

// addInFolder adds the paths that files get when they are copied, moved or linked to a folder.
func (c *call) addInFolder(dir word, from []word, tree bool) {
	if !dir.static {
		return
	}
	for _, w := range from {
		base := path.Base(w.text)
		ext := path.Ext(base)
		certain := len(from) > 1 || c.instead || dir.text == "." || dir.text == ".." || strings.HasSuffix(dir.text, "/")
		if w.static && w.glob && base == w.text[len(w.text)-len(base):] && !strings.HasPrefix(base, "/") {
			c.addPath(word{text: literalPattern(strings.TrimSuffix(dir.text, "/")) + "/" + base, static: true, glob: true}, dir.text, Write, FromArgument, tree)
			continue
		}
		if !w.static || w.glob || base == "/" || base == "." || base == ".." ||
			!certain && (base == path.Base(dir.text) || ext != "" && ext == path.Ext(dir.text)) {
			continue
		}
		file := word{text: strings.TrimSuffix(dir.text, "/") + "/" + base, static: true}
		c.addPath(file, dir.text, Write, FromArgument, tree)
		c.addBackups(file)
	}
}
