// Package urlpattern matches URLs against patterns in settings, such as "https://*.example.com/hooks/*".
package urlpattern

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Pattern is a parsed pattern. A "*" in the host matches any characters of the host; a "*" after the host
// matches any text.
type Pattern struct{ scheme, host, port, rest string }

// Check returns what is wrong with a pattern, or nil.
func Check(text string) error {
	_, err := Parse(text)
	return err
}

// Parse parses a pattern such as "https://*.example.com/hooks/*".
func Parse(text string) (Pattern, error) {
	scheme, after, ok := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return Pattern{}, fmt.Errorf("%q does not begin with http:// or https://", text)
	}
	authority, rest := after, "/"
	if i := strings.IndexAny(after, "/?#"); i >= 0 {
		authority, rest = after[:i], after[i:]
	}
	if rest[0] != '/' || strings.Contains(rest, "#") {
		return Pattern{}, fmt.Errorf("%q has no path after the host", text)
	}
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i+1:]
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "" || strings.ContainsAny(host, "@ \t\\%") || strings.ContainsAny(port, "@ \t\\%") {
		return Pattern{}, fmt.Errorf("%q has no host to compare", text)
	}
	return Pattern{scheme: scheme, host: host, port: portOf(scheme, port), rest: rest}, nil
}

func portOf(scheme, port string) string {
	switch {
	case port != "":
		return port
	case scheme == "https":
		return "443"
	}
	return "80"
}

// Matches reports whether the pattern matches a URL, which must not contain a password or be [Dotted].
func (p Pattern) Matches(u *url.URL) bool {
	rest := u.EscapedPath()
	if rest == "" {
		rest = "/"
	}
	if u.RawQuery != "" {
		rest += "?" + u.RawQuery
	}
	return p.scheme == u.Scheme && glob(p.port, portOf(u.Scheme, u.Port())) &&
		glob(p.host, strings.ToLower(u.Hostname())) && glob(p.rest, rest)
}

// glob matches a text against a pattern in which "*" matches any text.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	last := parts[len(parts)-1]
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok || len(text) < len(last) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[:len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

// Match reports whether a pattern, as [Check] accepts it, matches a URL. A URL with a password, or with "."
// or ".." in its path, matches nothing.
func Match(pattern string, u *url.URL) bool {
	p, err := Parse(pattern)
	return err == nil && u.User == nil && !Dotted(u) && p.Matches(u)
}

// Dotted reports whether a path contains "." or ".." components, which a server would resolve.
func Dotted(u *url.URL) bool {
	return slices.ContainsFunc(strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' || r == '\\' }), func(step string) bool {
		return step == "." || step == ".."
	})
}
