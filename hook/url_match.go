package hook

import "net/url"

// MatchURL reports whether a URL is one that a pattern names, as [CheckURLPattern] takes
// them: "*" in the host stands for any letters there, and in the rest for any text. What
// has a password in it, or "." and ".." in its path, matches nothing.
func MatchURL(pattern string, u *url.URL) bool {
	p, err := parseURLPattern(pattern)
	return err == nil && u.User == nil && !dotted(u) && p.matches(u)
}
