// Package patterns validates globs and splits lists of rules before anything is compared with them.
//
//	err := patterns.CheckGlob("src/**/*.{go,md}")
//	rules := patterns.SplitRules("Read, Bash(git diff:*)")
package patterns

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxAlternatives limits the number of alternatives that the matcher tries for one path.
const maxAlternatives = 256

// CheckGlob returns why a pattern cannot be compared with paths: it is malformed, or its braces have too many
// alternatives.
func CheckGlob(pattern string) error {
	switch {
	case !doublestar.ValidatePattern(pattern):
		return fmt.Errorf("%.200q is not a usable pattern", pattern)
	case alternatives(pattern) > maxAlternatives:
		return fmt.Errorf("%.200q has more than %d alternatives", pattern, maxAlternatives)
	}
	return nil
}

// alternatives returns the maximum number of alternatives in the braces of a pattern.
func alternatives(pattern string) int {
	ways := 1
	for i, c := range []byte(pattern) {
		if c != '{' || ways > maxAlternatives {
			continue
		}
		here, depth := 1, 0
		for j := i; j < len(pattern) && (j == i || depth > 0); j++ {
			switch pattern[j] {
			case '{':
				depth++
			case '}':
				depth--
			case ',':
				here++
			}
		}
		ways *= here
	}
	return ways
}

// SplitRules splits a text into rules. Commas and white space outside of parentheses separate them. No rule
// is empty.
func SplitRules(text string) (rules []string) {
	depth, start := 0, 0
	add := func(end int) {
		if rule := strings.TrimSpace(text[start:end]); rule != "" {
			rules = append(rules, rule)
		}
		start = end + 1
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth <= 0 && strings.IndexByte(", \t\n", c) >= 0:
			add(i)
		}
	}
	add(len(text))
	return rules
}
