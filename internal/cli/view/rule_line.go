package view

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// RuleLine formats a rule: "deny   Bash(rm:*)  /w/.holdfast/settings.json:3:14".
func RuleLine(t term.Style, effect policy.Effect, text, where string) string {
	return fmt.Sprintf("%s %s  %s", EffectText(t, effect), term.Escape(text), t.Dim(term.Escape(where)))
}

// EffectText returns an effect in its color, followed by spaces up to a width of six characters.
func EffectText(t term.Style, e policy.Effect) string {
	word := term.Column(string(e), 6)
	switch e {
	case policy.Allow:
		return t.Green(word)
	case policy.Deny:
		return t.Red(word)
	case policy.Ask:
		return t.Yellow(word)
	}
	return t.Dim(term.Column("-", 6))
}
