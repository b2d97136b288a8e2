package engine

import (
	"fmt"
	"strings"
)

// reference is the name of an image with defaults filled in: "debian" is docker.io/library/debian. Tag and digest
// may be empty.
//
// The grammar is that of github.com/distribution/reference, which would add 3,600 allocations to each start of the
// program; internal/oracle compares the two.
type reference struct{ name, tag, digest string }

// parseReference parses an image name as users write it.
func parseReference(s string) (reference, error) {
	fail := func(why string) (reference, error) {
		return reference{}, fmt.Errorf("%q is not an image name: %s", s, why)
	}
	if isHex(s, 64) {
		return fail("it is an image id")
	}
	domain, rest := splitDomain(s)
	rest, digest, digested := strings.Cut(rest, "@")
	path, tag, tagged := strings.Cut(rest, ":")
	r := reference{name: domain + "/" + path, tag: tag, digest: digest}
	switch {
	case path == "" || path == "library/":
		return fail("the name is empty")
	case strings.ToLower(path) != path:
		return fail("it must be in lower case")
	case tagged && !isTag(tag):
		return fail("the tag is not valid")
	case digested && !isDigest(digest):
		return fail("the digest is not valid")
	}
	long := path
	if !isDomain(domain) {
		long = r.name
	}
	for part := range strings.SplitSeq(long, "/") {
		if !isPart(part) {
			return fail(fmt.Sprintf("its part %q is invalid", part))
		}
	}
	if len(long) > 255 {
		return fail("it is longer than 255 bytes")
	}
	return r, nil
}

// checkSource checks that s can name an image: by name, id or digest.
func checkSource(s string) error {
	if isHex(s, 64) || isDigest(s) {
		return nil
	}
	_, err := parseReference(s)
	return err
}

const hub = "docker.io"

// splitDomain returns the registry in a name, or the default one, and the rest.
func splitDomain(s string) (domain, rest string) {
	first, after, ok := strings.Cut(s, "/")
	switch {
	case !ok:
		return hub, "library/" + s
	case first == "index.docker.io":
		domain, rest = hub, after
	case first == "localhost", strings.ContainsAny(first, ".:"), strings.ToLower(first) != first:
		domain, rest = first, after
	default:
		domain, rest = hub, s
	}
	if domain == hub && !strings.Contains(rest, "/") {
		rest = "library/" + rest
	}
	return domain, rest
}

// isDomain reports whether s is a host with an optional port; the host may be an IPv6 address in brackets.
func isDomain(s string) bool {
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		if host, port = s[:i], s[i+1:]; port == "" || !all(port, isDigit) {
			return false
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && inner != "" && all(inner, func(c byte) bool { return isDigit(c) || c == ':' || 'a' <= c|0x20 && c|0x20 <= 'f' })
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' || !all(label, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' }) {
			return false
		}
	}
	return true
}

// isPart reports whether s is a valid path component: lower-case words separated by a dot, one or two underscores,
// or dashes.
func isPart(s string) bool {
	word := func(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'z' }
	if s == "" || !word(s[0]) || !word(s[len(s)-1]) {
		return false
	}
	for i := 0; i < len(s); {
		from := i
		for i < len(s) && !word(s[i]) {
			i++
		}
		if sep := s[from:i]; sep != "" && sep != "." && sep != "_" && sep != "__" && strings.Trim(sep, "-") != "" {
			return false
		}
		for i < len(s) && word(s[i]) {
			i++
		}
	}
	return true
}

func isTag(s string) bool {
	return s != "" && len(s) <= 128 && s[0] != '.' && s[0] != '-' &&
		all(s, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '.' || c == '-' })
}

func isDigest(s string) bool {
	kind, sum, _ := strings.Cut(s, ":")
	switch kind {
	case "sha256":
		return isHex(sum, 64)
	case "sha384":
		return isHex(sum, 96)
	case "sha512":
		return isHex(sum, 128)
	}
	return false
}

func isHex(s string, size int) bool {
	return len(s) == size && all(s, func(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' })
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func all(s string, is func(byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}
