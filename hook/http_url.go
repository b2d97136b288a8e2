package hook

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// urlPattern is which URLs a hook may reach. "*" in the host stands for any letters
// there, and in the rest for any text.
type urlPattern struct{ scheme, host, port, rest string }

// CheckURLPattern says what is wrong with an entry of [CommandsOptions].URLs, or nil.
func CheckURLPattern(text string) error {
	_, err := parseURLPattern(text)
	return err
}

// parseURLPattern reads "https://*.example.com/hooks/*".
func parseURLPattern(text string) (urlPattern, error) {
	scheme, after, ok := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return urlPattern{}, fmt.Errorf("%q does not begin with http:// or https://", text)
	}
	authority, rest := after, "/"
	if i := strings.IndexAny(after, "/?#"); i >= 0 {
		authority, rest = after[:i], after[i:]
	}
	if rest[0] != '/' || strings.Contains(rest, "#") {
		return urlPattern{}, fmt.Errorf("%q has no path after the host", text)
	}
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i+1:]
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "" || strings.ContainsAny(host, "@ \t\\%") || strings.ContainsAny(port, "@ \t\\%") {
		return urlPattern{}, fmt.Errorf("%q has no host that could be compared", text)
	}
	return urlPattern{scheme: scheme, host: host, port: portOf(scheme, port), rest: rest}, nil
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

// matches compares with a URL that mayReach has looked at.
func (p urlPattern) matches(u *url.URL) bool {
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

// glob compares a text with a pattern in which "*" stands for any text.
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

// mayReach says why an HTTP hook may not be sent to a URL, or nil.
func (c *Commands) mayReach(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("its URL cannot be read")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("its URL does not begin with http:// or https:// and a host")
	case u.User != nil:
		return errors.New("its URL has a name or a password in it; hint: headers are the place for them")
	case dotted(u):
		return errors.New(`its URL has "." or ".." in the path`)
	case isLocalhost(u.Hostname()), isLoopback(u.Hostname()):
		return nil
	case slices.ContainsFunc(c.urls, func(p urlPattern) bool { return p.matches(u) }):
		return nil
	}
	return fmt.Errorf("%s may not be reached; hint: allowedHttpHookUrls names what may besides this machine", u.Host)
}

// dotted says whether a path has steps that a server would take away.
func dotted(u *url.URL) bool {
	return slices.ContainsFunc(strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' || r == '\\' }), func(step string) bool {
		return step == "." || step == ".."
	})
}

func isLocalhost(host string) bool { return strings.EqualFold(host, "localhost") }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
