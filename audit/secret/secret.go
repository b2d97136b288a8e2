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
// The patterns are data in builtin.go, and programs can add their own. The package is only a safety
// net: it does not find a secret that has no known form.
package secret

import (
	"encoding/json"
	"strings"
)

// Pattern is one kind of secret.
type Pattern struct {
	ID    string   `json:"id"`    // an id such as "github-token", which the placeholder contains; lower-case letters, digits and dashes
	Words []string `json:"words"` // every secret of this kind contains one of them, ignoring case, so a text without them is not searched with Expr; empty: every text is searched
	Expr  string   `json:"expr"`  // regular expression (RE2); the secret is the first group that matches or, without groups, the whole match

	Starts    bool `json:"starts,omitempty"` // every match of Expr starts with one of the words, so Expr is tried only where a word starts
	WordStart bool `json:"apart,omitempty"`  // the word at which a match starts must not follow a letter or digit

	Entropy     float64 `json:"entropy,omitempty"` // the minimum entropy of the secret, in bits per character
	Digits      bool    `json:"digits,omitempty"`  // the secret must contain a digit and a letter
	Literal     bool    `json:"literal,omitempty"` // the secret must not look like a variable, a call or a placeholder such as "changeme"
	Replacement string  `json:"show,omitempty"`    // replaces the secret; default "[secret:ID]"

	Examples        []string `json:"examples,omitempty"` // invented secrets that the pattern must find
	CounterExamples []string `json:"not,omitempty"`      // example texts that the pattern must not match
}

// Options are the options of [New].
type Options struct {
	Patterns  []Pattern // added to the built-in ones
	NoBuiltin bool      // without the built-in patterns
}

// Masker masks secrets. It is safe for concurrent use. A nil Masker masks nothing.
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
		m.maskEach(s, func(secret string, _ int) { hides = hides || strings.ContainsAny(secret, chars) })
	}
	return hides
}

// HasPlaceholder reports whether a text contains a placeholder, because it was masked or because it
// was written that way.
func (m *Masker) HasPlaceholder(s string) bool {
	return strings.Contains(s, marker) || m != nil && m.shows(s)
}

// JSON masks the secrets in the strings of a JSON text, except in field names; everything else
// keeps its bytes. Before it searches a string, it removes the escapes. It also uses the name of
// the string's field: {"password": "…"} is found like password="…". Text that is not JSON is masked
// as plain text.
func (m *Masker) JSON(raw json.RawMessage) (json.RawMessage, []string) {
	if m == nil {
		return raw, nil
	}
	return m.json(raw)
}
