package instructions

import (
	"path/filepath"
	"strings"
	"unicode"
)

// maxIncludes is the maximum number of includes of one file.
const maxIncludes = 100

// readIncludes reads the files that a file includes.
func (s *Set) readIncludes(m Level, at readOptions, path string, b []byte) {
	names := includes(string(b))
	if len(names) > maxIncludes {
		s.notice("%s: only the first %d includes are read", path, maxIncludes)
		names = names[:maxIncludes]
	}
	of := m
	for _, name := range names {
		m := of
		if s.full() {
			s.notice("%s: further includes are not read: instructions exceed %d KiB or %d files", path, maxTotal>>10, maxFiles)
			return
		}
		target, err := s.resolve(path, name)
		if err != nil {
			s.notice("%s: @%s is left out: %v", path, name, err)
			continue
		}
		if at.depth == maxDepth {
			if !s.tried[target] && isFileReference(name) {
				s.notice("%s: @%s is left out: includes are nested more than %d levels deep", path, name, maxDepth)
			}
			continue
		}
		free := at.free
		if !free && !s.inside(target) {
			users := s.isUsers(target)
			if free = users && s.o.Trusted; !free {
				switch {
				case users:
					s.notice("%s: @%s is left out: it is in your ~/.claude, and this folder is not trusted; hint: holdfast trust", path, name)
				case isFileReference(name):
					s.notice("%s: @%s is left out: it is outside the session's folders", path, name)
				}
				continue
			}
			m = User
		}
		s.read(m, readOptions{
			free: free, reason: byInclude, parent: path, trigger: at.trigger, depth: at.depth + 1, named: isFileReference(name),
		}, target)
	}
}

// isUsers reports whether a path is a Markdown file in the user's ~/.claude. Project files often
// include the user's personal files from there.
func (s *Set) isUsers(path string) bool {
	return s.o.User != "" && within(filepath.Join(s.o.User, ".claude"), path) && strings.EqualFold(filepath.Ext(path), ".md")
}

// inside reports whether a path is in one of the session's folders. It compares only names. Links
// are checked when the file is opened.
func (s *Set) inside(path string) bool {
	for _, root := range append([]string{s.o.Root}, s.o.Folders...) {
		if within(root, path) {
			return true
		}
	}
	return false
}

// isFileReference reports whether @name certainly refers to a file. "@someone" and "@scope/package"
// may be something else, so a missing file is not reported for them.
func isFileReference(name string) bool {
	return strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "~/") ||
		filepath.IsAbs(name) || strings.EqualFold(filepath.Ext(name), ".md")
}

// includes returns the paths that a Markdown text names with @, in order and without duplicates: at
// the start of a line or after white space, and not in code. A space in a path is written "\ ".
func includes(text string) (names []string) {
	seen := map[string]bool{}
	for line := range proseLines(text) {
		for _, name := range namedPaths(line) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// proseLines returns the lines that are not in a code block or an HTML comment, with code spans
// blanked.
func proseLines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		fence, before, indented, comment := "", "", false, false
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			bare := strings.TrimLeft(line, " ")
			indent := len(line) - len(bare)
			blank := strings.TrimSpace(line) == ""
			if fence != "" {
				if indent < 4 && fenceEnd(bare, fence) {
					fence = ""
				}
				before = line
				continue
			}
			if f := fenceStart(bare); f != "" && indent < 4 {
				fence, before = f, line
				continue
			}
			// A code block that is indented starts after a blank line. An indented line in a list
			// is not a code block.
			deep := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
			indented = deep && (indented || strings.TrimSpace(before) == "") || indented && blank
			before = line
			if indented || blank {
				continue
			}
			line, comment = uncommented(line, comment)
			if !yield(withoutSpans(line)) {
				return
			}
		}
	}
}

// fenceStart returns the fence with which a line starts a code block, or "".
func fenceStart(line string) string {
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && (c == "~" || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

func fenceEnd(line, fence string) bool {
	line = strings.TrimRight(line, " \t")
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}

// uncommented removes the parts of a line inside <!-- -->.
func uncommented(line string, in bool) (string, bool) {
	var b strings.Builder
	for {
		mark := "<!--"
		if in {
			mark = "-->"
		}
		i := strings.Index(line, mark)
		if i < 0 {
			if !in {
				b.WriteString(line)
			}
			return b.String(), in
		}
		if !in {
			b.WriteString(line[:i])
		}
		line, in = line[i+len(mark):], !in
	}
}

// withoutSpans blanks code spans: text between two runs of the same number of backticks.
func withoutSpans(line string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			b.WriteString(line)
			return b.String()
		}
		n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		b.WriteString(line[:i])
		rest := line[i+n:]
		end := run(rest, n)
		if end < 0 { // not a span: literal backticks
			b.WriteString(line[i : i+n])
			line = rest
			continue
		}
		b.WriteByte('`') // not white space, so the text after it starts no include
		line = rest[end+n:]
	}
}

// run returns the index of a run of exactly n backticks.
func run(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		k := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if k == n {
			return i
		}
		i += k
	}
	return -1
}

// namedPaths returns the paths after @ in a line of prose.
func namedPaths(line string) (names []string) {
	for i := 0; i < len(line); i++ {
		if line[i] != '@' || i > 0 && !strings.ContainsRune(" \t(", rune(line[i-1])) {
			continue
		}
		var b strings.Builder
		j := i + 1
		for ; j < len(line); j++ {
			if line[j] == '\\' && j+1 < len(line) && line[j+1] == ' ' {
				j++
			} else if line[j] == ' ' || line[j] == '\t' {
				break
			}
			b.WriteByte(line[j])
		}
		name := strings.TrimRight(b.String(), ".,;:!?)\"'")
		if isUsable(name) {
			names = append(names, name)
		}
		i = j
	}
	return names
}

// isUsable reports whether a name can be a path.
func isUsable(name string) bool {
	if name == "" || len(name) > 1024 || name[0] == '@' {
		return false
	}
	return strings.IndexFunc(name, unicode.IsControl) < 0
}
