package strategy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// signalMatch is how a cycle looks for its signals in what was said. Case never matters.
type signalMatch string

const (
	matchSubstring signalMatch = "substring"  // anywhere
	matchFirstLine signalMatch = "first-line" // the first line that is not blank begins with it, as a word
	matchAnyLine   signalMatch = "any-line"   // some line does
	matchExact     signalMatch = "exact"      // nothing else was said
)

var matches = []signalMatch{matchSubstring, matchFirstLine, matchAnyLine, matchExact}

// found reports whether one of the signals is in a text.
func (m signalMatch) found(text string, signals []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(signals, func(signal string) bool {
		return m.one(text, strings.ToLower(signal))
	})
}

func (m signalMatch) one(text, signal string) bool {
	switch m {
	case matchExact:
		return strings.TrimSpace(text) == signal
	case matchFirstLine, matchAnyLine:
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line == "" {
				continue
			}
			if verdict(line, signal) {
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

// verdict reports whether a line is the signal, or the signal and then more words.
func verdict(line, signal string) bool {
	rest, ok := strings.CutPrefix(line, signal)
	if !ok || rest == "" {
		return ok
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsSpace(r)
}
