package hook

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// matchTime is the time limit for matching an expression against one field. Matching uses
// backtracking, so a badly written expression could run forever.
const matchTime = 250 * time.Millisecond

// matcher is a compiled matcher. It is immutable and safe for concurrent use.
type matcher struct {
	text   string
	all    bool
	names  []string        // compared whole
	plain  *regexp.Regexp  // the same expression as slow, if both engines give it the same meaning; it runs in linear time
	slow   *regexp2.Regexp // nil if there is no expression
	guards bool            // an undecidable match is a match
	base   bool            // true if only the last part of a path is compared
}

// newMatcher compiles the matcher of a definition.
func newMatcher(d *Definition) (*matcher, error) {
	return compileMatcher(d.Dialect, d.Event, d.Matcher)
}

// compileMatcher parses a matcher by the rules of the dialect. Errors have the type *[Error]. They
// report an invalid expression, a matcher without names, and a matcher on an event that has no
// field to compare.
func compileMatcher(dialect string, event Event, text string) (*matcher, error) {
	info, _ := event.info()
	m := &matcher{text: text, guards: info.Guards, base: event == FileChanged}
	switch {
	case text == "" || text == "*":
		m.all = true
		return m, nil
	case info.Matches == "":
		return nil, &Error{What: fmt.Sprintf("the matcher %q has no effect: %s has no field to match", text, event), Advice: "remove the matcher"}
	case strings.ContainsRune(text, utf8.RuneError):
		return nil, &Error{What: fmt.Sprintf("the matcher %q is not valid UTF-8", text), Advice: "write the character itself"}
	case dialect == dialectSeed:
		return m, m.compile(regexp2.None)
	case isNames(event, text):
		if m.names = splitNames(text); len(m.names) == 0 {
			return nil, &Error{What: fmt.Sprintf("the matcher %q is empty", text), Advice: `write names, such as "Bash|Edit", or "*"`}
		}
		return m, nil
	case event == FileChanged:
		m.names = splitNames(text)
	}
	return m, m.compile(regexp2.ECMAScript)
}

// isNames reports whether a matcher in Claude's dialect is a list of names.
func isNames(event Event, text string) bool {
	more := "_|- ,"
	if event == StopFailure || event == FileChanged {
		more = "_|"
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(more, r)
	})
}

func splitNames(text string) []string {
	var names []string
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == ',' }) {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (m *matcher) compile(o regexp2.RegexOptions) error {
	slow, err := regexp2.Compile(m.text, o)
	if err != nil {
		what := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return &Error{What: fmt.Sprintf("invalid matcher %q: %s", m.text, what), Advice: expressionHint(m.text)}
	}
	slow.MatchTimeout = matchTime
	m.slow, m.plain = slow, plainExpression(m.text)
	return nil
}

func expressionHint(text string) string {
	if strings.HasPrefix(text, "*") || strings.Contains(text, "|*") {
		return `write ".*" to match anything`
	}
	return `write "\\" before each literal ( ) [ ] { } + * ?`
}

// plainExpression compiles an expression that has the same meaning in every engine: letters,
// digits, dots, groups, alternatives, repetitions and anchors. It returns nil for other
// expressions.
func plainExpression(text string) *regexp.Regexp {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '.':
			b.WriteString(`[^\n\r\x{2028}\x{2029}]`)
			continue
		case r == '(' && strings.HasPrefix(text[i:], "(?"), r == '$' && i != len(text)-1, r > '~':
			return nil
		case strings.ContainsRune(`\[]{}`, r):
			return nil
		case r == '$':
			b.WriteString(`\z`)
			continue
		}
		b.WriteRune(r)
	}
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil
	}
	return re
}

// matches reports whether the hook runs for a field's value.
func (m *matcher) matches(field string) bool {
	ok, _ := m.look(field)
	return ok
}

// look is like matches, and also returns a notice for the user. If an expression reaches the time
// limit, it matches on events that guard an action, and does not match on other events.
func (m *matcher) look(field string) (ok bool, notice string) {
	if m.all {
		return true, ""
	}
	if m.base && field != "" {
		field = filepath.Base(field)
	}
	switch {
	case field == "":
		return false, ""
	case slices.Contains(m.names, field):
		return true, ""
	case m.plain != nil:
		return m.plain.MatchString(field), ""
	case m.slow == nil:
		return false, ""
	}
	ok, err := m.slow.MatchString(field)
	if err != nil {
		then := "the hook was skipped"
		if m.guards {
			then = "the hook ran, because the event guards a call"
		}
		return m.guards, fmt.Sprintf("the matcher %q did not finish within %v: %s", m.text, matchTime, then)
	}
	return ok, ""
}
