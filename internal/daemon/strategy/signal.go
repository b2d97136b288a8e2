package strategy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// signalMatch is how a cycle finds its signals in an output. Case is ignored.
type signalMatch string

const (
	matchSubstring signalMatch = "substring"  // anywhere
	matchFirstLine signalMatch = "first-line" // the first non-blank line begins with the signal, as a word
	matchAnyLine   signalMatch = "any-line"   // any line begins with the signal, as a word
	matchExact     signalMatch = "exact"      // the whole output is the signal
)

var signalMatches = []signalMatch{matchSubstring, matchFirstLine, matchAnyLine, matchExact}

// found reports whether one of the signals is in a text.
func (m signalMatch) found(text string, signals []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(signals, func(signal string) bool {
		return m.matches(text, strings.ToLower(signal))
	})
}

func (m signalMatch) matches(text, signal string) bool {
	switch m {
	case matchExact:
		return strings.TrimSpace(text) == signal
	case matchFirstLine, matchAnyLine:
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line == "" {
				continue
			}
			if lineHasSignal(line, signal) {
				return true
			}
			if m == matchFirstLine {
				return false
			}
		}
		return false
	}
	return strings.Contains(text, signal)
}

// lineHasSignal reports whether a line is the signal, or the signal followed by more words.
func lineHasSignal(line, signal string) bool {
	rest, ok := strings.CutPrefix(line, signal)
	if !ok || rest == "" {
		return ok
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsSpace(r)
}
