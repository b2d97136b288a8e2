package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// script finds the literals in JavaScript: strings, and HTML templates with code in them.
type script struct {
	rest  string
	texts []string
}

// code reads up to the end, or to a bracket that closes one before it.
func (s *script) code(depth int) {
	last := byte(0) // the last character before this one that is not a space
	for len(s.rest) > 0 {
		c := s.rest[0]
		switch {
		case c == '"' || c == '\'':
			s.text(c)
		case c == '`':
			s.template()
		case strings.HasPrefix(s.rest, "//"):
			_, s.rest, _ = strings.Cut(s.rest, "\n")
			continue
		case strings.HasPrefix(s.rest, "/*"):
			_, s.rest, _ = strings.Cut(s.rest, "*/")
			continue
		case c == '/' && strings.IndexByte("(,=:[!&|?{};\x00", last) >= 0:
			if m := expression.FindString(s.rest); m != "" {
				s.rest = s.rest[len(m):]
				last = '/'
				continue
			}
			s.rest = s.rest[1:]
		case c == '{':
			depth++
			s.rest = s.rest[1:]
		case c == '}':
			s.rest = s.rest[1:]
			if depth--; depth < 0 {
				return
			}
		default:
			s.rest = s.rest[1:]
		}
		if c != ' ' && c != '\n' {
			last = c
		}
	}
}

var (
	expression = regexp.MustCompile(`^/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/`)
	tag        = regexp.MustCompile(`<[^<>]*>`)
	attribute  = regexp.MustCompile(`(?:title|label|aria-label|placeholder|verb|alt|content)="([^"]*)"`)
)

func (s *script) text(quote byte) {
	for i := 1; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case quote:
			s.texts = append(s.texts, s.rest[1:i])
			s.rest = s.rest[i+1:]
			return
		}
	}
	s.rest = ""
}

// template reads a template. Its code is returned after it.
func (s *script) template() {
	var b strings.Builder
	s.rest = s.rest[1:]
	inner := script{}
	for len(s.rest) > 0 {
		switch {
		case s.rest[0] == '`':
			s.rest = s.rest[1:]
			s.markup(b.String())
			s.texts = append(s.texts, inner.texts...)
			return
		case strings.HasPrefix(s.rest, "${"):
			inner.rest = s.rest[2:]
			inner.code(0)
			s.rest = inner.rest
			b.WriteString("…")
		case s.rest[0] == '\\' && len(s.rest) > 1:
			b.WriteByte(s.rest[1])
			s.rest = s.rest[2:]
		default:
			b.WriteByte(s.rest[0])
			s.rest = s.rest[1:]
		}
	}
}

// markup keeps the text between tags, and the attributes that are shown.
func (s *script) markup(source string) {
	for _, m := range attribute.FindAllStringSubmatch(source, -1) {
		s.texts = append(s.texts, m[1])
	}
	for text := range strings.SplitSeq(tag.ReplaceAllString(source, "\x00"), "\x00") {
		s.texts = append(s.texts, text)
	}
}

func TestScriptLiterals(t *testing.T) {
	s := script{rest: "// no \"text\"\nconst a = 'an apple', b = x / 2; /* `no` */\nreturn html`<p title=\"A pear\">Eat ${n > 1 ? \"them all\" : html`<b>it ${z}</b>`} now</p>`; y.match(/\"'/); f(\"the end\")"}
	s.code(0)
	s.texts = slices.DeleteFunc(s.texts, func(t string) bool { return t == "" })
	if want := []string{"an apple", "A pear", "Eat … now", "them all", "it …", "the end"}; !slices.Equal(s.texts, want) {
		t.Errorf("got %q, want %q", s.texts, want)
	}
}
