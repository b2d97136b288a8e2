package policy

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// linePattern matches command lines:
//
//	Bash(npm test)                      exactly this line
//	Bash(npm test:*), Bash(npm test *)  lines that start with these words
//	Bash(ls*), Bash(git * main)         lines with any text in place of the star
type linePattern struct {
	parts []string // the literals between stars
	word  bool     // the last literal ends at the end of a word
	exact bool
	whole bool   // the pattern contains operators or assignments: compare it with the whole line, too
	sets  bool   // the pattern starts with an assignment
	text  string // the first literal as it is written
}

// newLinePattern parses the specifier of a command rule.
func newLinePattern(spec string, o *shellparse.Options) (linePattern, *parseError) {
	spec = strings.TrimSpace(spec)
	body, word := strings.CutSuffix(spec, ":*")
	if word && strings.HasSuffix(body, `\`) {
		return linePattern{}, &parseError{`"\:*" at the end is ambiguous`, `write ":*" for a prefix, "\:\*" for the letters`}
	}
	if !word {
		body, word = strings.CutSuffix(spec, " *")
		body = strings.TrimRight(body, " \t")
	}
	if i := strings.Index(body, ":*"); i >= 0 && (i == 0 || body[i-1] != '\\') {
		return linePattern{}, &parseError{
			`":*" must be at the end of a rule`,
			`write a space and a star for any text, or "\:*" for a literal colon followed by a star`,
		}
	}
	if strings.Trim(body, " \t*") == "" {
		return linePattern{}, &parseError{"the rule has no command", "write Bash for every command"}
	}
	p := linePattern{parts: unescape(body), word: word}
	p.text = p.parts[0]
	for i := range p.parts {
		p.parts[i] = oneSpace(p.parts[i])
	}
	p.sets = startsWithAssignment(p.parts[0])
	p.whole = p.sets || strings.ContainsAny(body, "|&;<>\n")
	if len(p.parts) == 1 {
		p.exact = !word
		p.parts[0] = canonicalText(p.parts[0], o)
	}
	return p, nil
}

// match compares a line.
func (p *linePattern) match(line string) bool { return matchParts(p.parts, line, p.word) }

// matchParts reports whether s consists of the parts in their order, with any text between them. If
// word is true, more words may follow the last part.
func matchParts(parts []string, s string, word bool) bool {
	first := parts[0]
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	if len(parts) == 1 {
		return s == "" || word && blank(s[0])
	}
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	last := parts[len(parts)-1]
	if strings.HasSuffix(s, last) {
		return true
	}
	for word {
		i := strings.Index(s, last)
		if i < 0 {
			return false
		}
		if end := i + len(last); end == len(s) || blank(s[end]) {
			return true
		}
		s = s[i+1:]
	}
	return false
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// oneSpace replaces each run of spaces inside a line by one space.
func oneSpace(s string) string {
	if !strings.Contains(s, "  ") && !strings.ContainsAny(s, "\t") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		switch {
		case s[i] != ' ' && s[i] != '\t':
			b.WriteByte(s[i])
		case i == 0 || !blank(s[i-1]):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// canonicalText converts the literal text of a rule to the form in which the parser writes
// commands, so that quoting makes no difference. A text that is not exactly one simple command is
// not changed.
func canonicalText(s string, o *shellparse.Options) string {
	if !strings.ContainsAny(s, "'\"\\$~{[?#`!=") {
		return s
	}
	r := shellparse.Parse(s, o)
	if !r.Static() || len(r.Commands) == 0 || len(r.Commands[0].Wrappers) > 0 || len(r.Commands[0].Assigns) > 0 {
		return s
	}
	for i := range r.Commands[1:] {
		if len(r.Commands[1+i].Wrappers) == 0 {
			return s
		}
	}
	for i := range r.Commands[0].Paths {
		if r.Commands[0].Paths[i].Source == shellparse.FromRedirect {
			return s
		}
	}
	return r.Commands[0].Line
}

// startsWithAssignment reports whether a line sets a variable for its command.
func startsWithAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return true
}
