// Package secret finds keys, tokens and private keys in text and masks them, before
// the text is written anywhere.
//
//	text ─► a word of a pattern? ─► its expression ─► random enough? ─► "[secret:github-token]"
//
// The shortest use:
//
//	m, err := secret.New(nil)
//	masked, found := m.Text("export TOKEN=ghp_…")
//
// The patterns are data in builtin.go, and programs can add their own. The package is a safety net, not a
// guarantee: it does not find a secret without a known form.
package secret

import (
	"encoding/json"
	"strings"
)

// Pattern is one kind of secret.
type Pattern struct {
	ID    string   `json:"id"`    // such as "github-token", part of the placeholder; lower-case letters, digits and dashes
	Words []string `json:"words"` // every such secret contains one of them, in any case: a quick check before Expr; none: every text is searched
	Expr  string   `json:"expr"`  // regular expression (RE2); the secret is the first group that matches or, without groups, the whole match

	Starts    bool `json:"starts,omitempty"` // a match of Expr starts with one of the words: Expr is tried only there
	WordStart bool `json:"apart,omitempty"`  // and does not follow a letter or digit

	Entropy     float64 `json:"entropy,omitempty"` // minimum bits per character of the secret
	Digits      bool    `json:"digits,omitempty"`  // the secret must contain a digit and a letter
	Literal     bool    `json:"literal,omitempty"` // the secret must not look like a variable, a call or a placeholder such as "changeme"
	Replacement string  `json:"show,omitempty"`    // replaces the secret; default "[secret:ID]"

	Examples        []string `json:"examples,omitempty"` // invented secrets that must be found
	CounterExamples []string `json:"not,omitempty"`      // texts that must not be found
}

// Options are the options of [New].
type Options struct {
	Patterns  []Pattern // added to the built-in ones
	NoBuiltin bool      // without the built-in patterns
}

// Masker masks secrets. It is safe for concurrent use; a nil one masks nothing.
type Masker struct {
	patterns []pattern
	words    *words
	unkeyed  []int // patterns without words
}

// Text masks the secrets in a text and returns the ids of the patterns found. A text without
// secrets is returned unchanged, without a copy. Masking a masked text changes nothing.
func (m *Masker) Text(s string) (string, []string) {
	if m == nil {
		return s, nil
	}
	return m.text(s)
}

// MasksAny reports whether a secret in a text contains one of these characters. A reader of
// the masked text then does not see their effect.
func (m *Masker) MasksAny(s, chars string) bool {
	hides := false
	if m != nil {
		m.each(s, func(secret string, _ int) { hides = hides || strings.ContainsAny(secret, chars) })
	}
	return hides
}

// HasPlaceholder reports whether a text contains a placeholder: it was masked, or was written
// that way.
func (m *Masker) HasPlaceholder(s string) bool {
	return strings.Contains(s, marker) || m != nil && m.shows(s)
}

// JSON masks the secrets in the strings of a JSON text, except in field names; everything else
// keeps its bytes. It removes the escapes of a string before it searches, and uses the name of
// its field: {"password": "…"} is found like password="…". Text that is not JSON is masked as
// plain text.
func (m *Masker) JSON(raw json.RawMessage) (json.RawMessage, []string) {
	if m == nil {
		return raw, nil
	}
	return m.json(raw)
}
