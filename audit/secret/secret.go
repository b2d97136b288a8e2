// Package secret finds keys, tokens and private keys in text and masks them, before
// the text is written anywhere.
//
//	text ─► words that a pattern wants? ─► its expression ─► looks random enough? ─► "[secret:github-token]"
//
// The shortest use:
//
//	m, err := secret.New(nil)
//	masked, found := m.Text("export TOKEN=ghp_…")
//
// What counts as a secret is data, in builtin.go; more can be given. It is a net
// and no wall: a secret without a known shape passes.
package secret

import (
	"encoding/json"
	"strings"
)

// Pattern is one kind of secret.
type Pattern struct {
	ID    string   `json:"id"`    // "github-token": what is shown instead; lower-case letters, digits and dashes
	Words []string `json:"words"` // one of them is in every such secret's text, any case: a fast look before Expr; none: every text is searched
	Expr  string   `json:"expr"`  // regular expression (RE2); its first group that matches, when there is one, is the secret

	Starts    bool `json:"starts,omitempty"` // what Expr matches begins with one of the words: it is tried nowhere else
	WordStart bool `json:"apart,omitempty"`  // and no letter or digit stands before that

	Entropy     float64 `json:"entropy,omitempty"` // bits per character that the secret must have at least
	Digits      bool    `json:"digits,omitempty"`  // it must have a digit and a letter
	Literal     bool    `json:"literal,omitempty"` // it must not look like a variable, a call or a stand-in such as "changeme"
	Replacement string  `json:"show,omitempty"`    // what stands in its place; default "[secret:ID]"

	Examples        []string `json:"examples,omitempty"` // made up; each is found
	CounterExamples []string `json:"not,omitempty"`      // and these are not
}

// Options adjusts [New].
type Options struct {
	Patterns  []Pattern // besides the built-in ones
	NoBuiltin bool      // without the built-in ones
}

// Masker masks secrets. It is safe for concurrent use; a nil one masks nothing.
type Masker struct {
	patterns []pattern
	words    *words
	unkeyed  []int // patterns without words
}

// Text masks the secrets in a text. What has none is returned as it is, without a
// copy. Masking a masked text changes nothing.
func (m *Masker) Text(s string) (string, []string) {
	if m == nil {
		return s, nil
	}
	return m.text(s)
}

// MasksAny reports whether a secret in a text has one of these characters: then whoever
// sees the text masked does not see what they do.
func (m *Masker) MasksAny(s, chars string) bool {
	hides := false
	if m != nil {
		m.each(s, func(secret string, _ int) { hides = hides || strings.ContainsAny(secret, chars) })
	}
	return hides
}

// HasPlaceholder reports whether a text has what stands in the place of a secret: it was
// masked, or somebody wrote it so.
func (m *Masker) HasPlaceholder(s string) bool {
	return strings.Contains(s, marker) || m != nil && m.shows(s)
}

// JSON masks the secrets in the strings of a JSON text, names of fields excepted;
// everything else keeps its bytes. A string is read with its escapes undone, and
// together with the name of its field: {"password": "…"} is found as password="…"
// is. What is no JSON is masked as text.
func (m *Masker) JSON(raw json.RawMessage) (json.RawMessage, []string) {
	if m == nil {
		return raw, nil
	}
	return m.json(raw)
}
