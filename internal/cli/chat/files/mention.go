package files

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// Mention is a file or folder that a prompt mentions.
type Mention struct {
	Path     string // as the model gets it: relative to the working folder, or absolute
	From, To int    // lines, counted from 1; 0 if the whole file is meant
	Dir      bool
	Image    bool
	Outside  bool // not below the working folder, so that the model may need approval to read it
}

// maxMention is the longest mention, in bytes.
const maxMention = 1 << 10

// Quote returns the mention of a path, as a completion inserts it.
func Quote(path string) string { return "@" + strings.ReplaceAll(path, " ", `\ `) }

// Query splits the word after @ into the path and the lines that follow it, such as ":10-20". A
// completion searches the path, and appends the lines again.
func Query(word string) (path, lines string) {
	if path, _, _, ok := cutLines(word); ok {
		return path, word[len(path):]
	}
	return word, ""
}

// Expand replaces the mentions in a prompt by what the model reads: "@a.go:10-20" by
// "a.go (lines 10-20)". A mention is @ at the start or after white space or "(", with a path of a
// file that exists, relative to dir or absolute or below ~. A space in a path is written "\ ", or
// the path is in double quotes. All other text stays as it is. If image is not nil, it may return a
// text in place of the name of an image.
func Expand(text, dir string, image func(path string) string) (string, []Mention) {
	var b strings.Builder
	var all []Mention
	rest := 0 // text before it is written
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || i > 0 && !strings.ContainsRune(" \t\n(", rune(text[i-1])) {
			continue
		}
		word, size := mentioned(text[i+1:])
		m, used, ok := find(word, dir)
		if !ok {
			continue
		}
		if used < len(word) { // punctuation at the end; there is no escape in it
			size -= len(word) - used
		}
		all = append(all, m)
		name := ""
		if m.Image && m.From == 0 && image != nil {
			name = image(m.Path)
		}
		b.WriteString(text[rest:i] + cmp.Or(name, m.String()))
		rest = i + 1 + size
		i = rest - 1
	}
	return b.String() + text[rest:], all
}

// Dropped returns the mention of the file that the user dragged to the terminal. A terminal pastes its
// absolute path, in quotes, with escapes, or as a URL. Another paste is not a dropped file.
func Dropped(paste, dir string) (mention string, ok bool) {
	name := strings.TrimSpace(paste)
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "", false
	}
	switch {
	case strings.HasPrefix(name, "file://"):
		u, err := url.Parse(name)
		if err != nil || u.Host != "" && u.Host != "localhost" {
			return "", false
		}
		name = u.Path
	case len(name) > 1 && (name[0] == '\'' || name[0] == '"') && name[len(name)-1] == name[0]:
		name = strings.ReplaceAll(name[1:len(name)-1], `'\''`, "'")
	default:
		if m, ok := stat(name, dir); ok && filepath.IsAbs(name) {
			return Quote(m.Path), true
		}
		name = unescape(name)
	}
	m, ok := stat(name, dir)
	if !ok || !filepath.IsAbs(name) {
		return "", false
	}
	return Quote(m.Path), true
}

// unescape removes the backslashes that a shell would remove.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// String returns the mention as the model gets it.
func (m Mention) String() string {
	s := m.Path
	if strings.ContainsFunc(s, unicode.IsSpace) {
		s = strconv.Quote(s)
	}
	switch {
	case m.From == 0:
	case m.To == m.From:
		s += fmt.Sprintf(" (line %d)", m.From)
	default:
		s += fmt.Sprintf(" (lines %d-%d)", m.From, m.To)
	}
	return s
}

// mentioned returns the word at the start of text, without quotes and escapes, and its size in text.
func mentioned(text string) (word string, size int) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		if end := strings.IndexAny(quoted, "\"\n"); end > 0 && quoted[end] == '"' {
			after, n := mentioned(quoted[end+1:]) // lines can follow
			if after != "" && after[0] != ':' && after[0] != '#' {
				after, n = "", 0
			}
			return quoted[:end] + after, end + 2 + n
		}
	}
	var b strings.Builder
	for size < len(text) && size <= maxMention && !strings.ContainsRune(" \t\r\n", rune(text[size])) {
		if strings.HasPrefix(text[size:], `\ `) {
			size++
		}
		b.WriteByte(text[size])
		size++
	}
	return b.String(), size
}

// find returns the file that a word mentions, and how many bytes of the word mention it.
func find(word, dir string) (m Mention, used int, ok bool) {
	if word == "" || len(word) > maxMention || strings.ContainsFunc(word, unicode.IsControl) {
		return m, 0, false
	}
	trimmed := strings.TrimRight(word, ".,;:!?)\"'")
	for _, w := range []string{word, trimmed} {
		if m, ok = stat(w, dir); ok {
			return m, len(w), true
		}
		if path, from, to, ok := cutLines(w); ok {
			if m, ok = stat(path, dir); ok && !m.Dir {
				m.From, m.To = from, to
				return m, len(w), true
			}
		}
	}
	return m, 0, false
}

func stat(name, dir string) (m Mention, ok bool) {
	if name == "" || name == "/" {
		return m, false
	}
	abs := name
	if rest, home := strings.CutPrefix(name, "~/"); home {
		user, err := os.UserHomeDir()
		if err != nil {
			return m, false
		}
		abs = filepath.Join(user, rest)
	}
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(dir, abs)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return m, false
	}
	m = Mention{Path: abs, Dir: info.IsDir(), Image: info.Mode().IsRegular() && imageKind(name) != ""}
	if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) {
		m.Path = filepath.ToSlash(rel)
	} else {
		m.Outside = true
	}
	return m, true
}

// cutLines cuts the lines from the end of a word: ":10", ":10-20", "#L10" or "#L10-L20".
func cutLines(word string) (path string, from, to int, ok bool) {
	i := strings.LastIndexAny(word, ":#")
	if i <= 0 {
		return "", 0, 0, false
	}
	lines := word[i+1:]
	if word[i] == '#' {
		if !strings.HasPrefix(lines, "L") {
			return "", 0, 0, false
		}
		lines = strings.ReplaceAll(lines, "L", "")
	}
	first, last, more := strings.Cut(lines, "-")
	if from, ok = lineNumber(first); !ok {
		return "", 0, 0, false
	}
	if to = from; more {
		if to, ok = lineNumber(last); !ok || to < from {
			return "", 0, 0, false
		}
	}
	return word[:i], from, to, true
}

func lineNumber(s string) (n int, ok bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n > 0 && s[0] != '+'
}
