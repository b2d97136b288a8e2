// Package patterns reads what people write for globs and rules before anything is compared
// with it.
//
//	err := patterns.CheckGlob("src/**/*.{go,md}")
//	rules := patterns.SplitRules("Read, Bash(git diff:*)")
package patterns

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxAlternatives bounds what the matcher may have to try for one path.
const maxAlternatives = 256

// CheckGlob says why a pattern, whoever has written it, cannot be compared with paths:
// it is not well formed, or its braces have the matcher try more ways than can be waited
// for.
func CheckGlob(pattern string) error {
	switch {
	case !doublestar.ValidatePattern(pattern):
		return fmt.Errorf("%.200q is not a usable pattern", pattern)
	case alternatives(pattern) > maxAlternatives:
		return fmt.Errorf("%.200q has more than %d alternatives", pattern, maxAlternatives)
	}
	return nil
}

// alternatives counts the ways through the braces of a pattern, at most.
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

// SplitRules takes rules that people write into one text apart: commas and white space
// separate them that are not in parentheses. None of them is empty.
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
