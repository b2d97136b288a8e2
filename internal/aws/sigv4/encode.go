package sigv4

import (
	"net/url"
	"slices"
	"strings"
)

// EncodePath encodes a path as S3 signs it: all bytes except letters, digits, - . _ ~ and / become
// % followed by two hexadecimal digits.
func EncodePath(path string) string { return encode(path, "/") }

// encode percent-encodes all bytes except the unreserved bytes of RFC 3986 and the bytes in keep.
func encode(text, keep string) string {
	const digits = "0123456789ABCDEF"
	plain := func(c byte) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			c == '-' || c == '.' || c == '_' || c == '~' || strings.IndexByte(keep, c) >= 0
	}
	n := 0
	for n < len(text) && plain(text[n]) {
		n++
	}
	if n == len(text) {
		return text
	}
	b := append(make([]byte, 0, len(text)+16), text[:n]...)
	for ; n < len(text); n++ {
		if c := text[n]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// canonicalPath returns the path in the form that is signed. S3 signs it unchanged; other services
// normalize it and encode it once more.
func (s Signer) canonicalPath(u *url.URL) string {
	path := u.EscapedPath()
	if !s.s3() {
		path = EncodePath(normalize(path))
	}
	if path == "" {
		return "/"
	}
	return path
}

// normalize removes empty parts and dot segments (RFC 3986, section 6).
func normalize(path string) string {
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "", ".":
		case "..":
			parts = parts[:max(0, len(parts)-1)]
		default:
			parts = append(parts, part)
		}
	}
	clean := "/" + strings.Join(parts, "/")
	if len(parts) > 0 && (strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..")) {
		clean += "/"
	}
	return clean
}

// canonicalQuery returns the query in the form that is signed: encoded, then sorted by name and
// value.
func canonicalQuery(query url.Values) string {
	var pairs [][2]string
	for name, values := range query {
		for _, v := range values {
			pairs = append(pairs, [2]string{encode(name, ""), encode(v, "")})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int {
		if c := strings.Compare(a[0], b[0]); c != 0 {
			return c
		}
		return strings.Compare(a[1], b[1])
	})
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p[0] + "=" + p[1])
	}
	return b.String()
}
