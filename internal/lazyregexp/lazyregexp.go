// Package lazyregexp compiles regular expressions of packages when they are first
// used: a program that starts pays for those that it needs.
//
//	var name = lazyregexp.Must(`^[a-z]+$`)
//	…
//	name().MatchString(s)
package lazyregexp

import (
	"regexp"
	"sync"
)

// Must returns what compiles expr at its first call, and panics there when expr is
// no regular expression (RE2). It is safe for concurrent use.
func Must(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
