package search

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
)

// matcher finds a pattern in a file's lines.
type matcher struct {
	re        *regexp.Regexp
	in        grepInput
	multiline bool
	byLine    bool // the pattern refers to the start or end of the text; it can therefore only be matched against single lines
}

func newMatcher(in grepInput) (*matcher, error) {
	flags := "(?m)"
	if in.Multiline {
		flags = "(?ms)"
	}
	if in.IgnoreCase {
		flags += "(?i)"
	}
	re, err := regexp.Compile(flags + in.Pattern)
	if err != nil {
		return nil, fmt.Errorf("Invalid regular expression: %q: %w", in.Pattern, err) // the model reads this text, as in the compatibility cases
	}
	m := &matcher{re: re, in: in, multiline: in.Multiline}
	if tree, err := syntax.Parse(flags+in.Pattern, syntax.Perl); err == nil {
		m.byLine = !in.Multiline && usesTextAnchor(tree)
	}
	return m, nil
}

func usesTextAnchor(re *syntax.Regexp) bool {
	if re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText {
		return true
	}
	return slices.ContainsFunc(re.Sub, usesTextAnchor)
}

// span is a range of bytes of a content.
type span struct{ from, to int }

// next finds the next match at or after the start of a line. It returns the matching line, or all
// lines that the match spans. The span ends before the last line ending. If there is no match, from
// is negative.
func (m *matcher) next(content []byte, at int) span {
	for at < len(content) {
		if m.byLine {
			to := lineEnd(content, at)
			if m.re.Match(content[at:to]) {
				return span{at, to}
			}
			at = to + 1
			continue
		}
		found := m.re.FindIndex(content[at:])
		if found == nil || at+found[0] >= len(content) {
			break // nothing, or only the empty text after the last line ending
		}
		from := lineStart(content, at+found[0])
		to := lineEnd(content, at+found[0])
		if m.multiline {
			last := max(at+found[0], at+found[1]-1)
			return span{from, max(to, lineEnd(content, last))}
		}
		// In the whole text, a pattern like \s can match the line ending, so the line itself is checked
		// again.
		if m.re.Match(content[from:to]) {
			return span{from, to}
		}
		at = to + 1
	}
	return span{from: -1}
}

func lineStart(b []byte, i int) int { return bytes.LastIndexByte(b[:i], '\n') + 1 }

func lineEnd(b []byte, i int) int {
	if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(b)
}
