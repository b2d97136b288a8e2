package policy

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/registries"
)

// hostPattern matches hosts: "x.org" (this host), "*.x.org" (any depth below x.org, not x.org
// itself), "api.*.org" (other stars match within one label), "*" (every host), "@npm" (the hosts of
// a package registry).
type hostPattern struct {
	text   string
	below  string   // ".x.org", from a leading "*."
	labels []string // the parts between dots; nil if text is compared as a whole
	every  bool
	hosts  []string // of a package registry: "@npm"
}

const hostHint = `write a host: "WebFetch(domain:example.org)" or "WebFetch(domain:*.example.org)"`

// newHostPattern parses a host or a pattern of hosts.
func newHostPattern(s string) (hostPattern, *parseError) {
	p := hostPattern{text: strings.ToLower(strings.TrimSuffix(strings.TrimSpace(s), "."))}
	switch p.text {
	case "":
		return p, &parseError{"the domain is empty", hostHint}
	case "*":
		p.every = true
		return p, nil
	}
	if strings.HasPrefix(p.text, "@") {
		if p.hosts = registries.Hosts(p.text); p.hosts == nil {
			return p, &parseError{`unknown package registry "` + s + `"`, "the registries are " + strings.Join(registries.Names(), ", ")}
		}
		return p, nil
	}
	for _, c := range p.text {
		switch {
		case c > 127:
			return p, &parseError{`the domain "` + s + `" is not in ASCII form`, "write the xn-- form of the name"}
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', strings.ContainsRune("-_.*:[]", c):
		default:
			return p, &parseError{`"` + s + `" is not a domain`, hostHint}
		}
	}
	if ip, ok := ipOf(strings.Trim(p.text, "[]")); ok {
		p.text = ip
		return p, nil
	}
	if strings.ContainsAny(p.text, ":[]") {
		return p, &parseError{`"` + s + `" contains more than a domain`, "omit the port; " + hostHint}
	}
	if strings.Contains("."+p.text+".", "..") {
		return p, &parseError{`"` + s + `" has an empty part`, hostHint}
	}
	rest, leading := strings.CutPrefix(p.text, "*.")
	if leading && !strings.Contains(rest, "*") {
		p.below = "." + rest
		return p, nil
	}
	if strings.Contains(p.text, "*") {
		p.labels = strings.Split(p.text, ".")
	}
	return p, nil
}

// match compares a host in the form of [hostOf].
func (p *hostPattern) match(host string) bool {
	switch {
	case p.every:
		return true
	case p.hosts != nil:
		return slices.Contains(p.hosts, host)
	case p.below != "":
		return len(host) > len(p.below) && strings.HasSuffix(host, p.below)
	case p.labels == nil:
		return host == p.text
	}
	labels := p.labels
	if labels[0] == "*" { // a star as the first part matches one or more parts
		for labels = labels[1:]; ; {
			_, rest, ok := strings.Cut(host, ".")
			if !ok {
				return false
			}
			if host = rest; matchLabels(labels, host) {
				return true
			}
		}
	}
	return matchLabels(labels, host)
}

func matchLabels(labels []string, host string) bool {
	for i, label := range labels {
		part, rest, more := strings.Cut(host, ".")
		if !matchParts(strings.Split(label, "*"), part, false) || more != (i < len(labels)-1) {
			return false
		}
		host = rest
	}
	return true
}

// hostOf converts the resource of a net.connect request to the form that rules compare: lower case,
// without scheme, path, port, brackets and trailing dot. An IP address gets its shortest form. It
// returns "" for a host that cannot be compared: an empty host, or a host with characters that a
// client may map to others ("%65", "\uff45").
func hostOf(resource string) string {
	host := resource
	if _, rest, ok := strings.Cut(host, "://"); ok {
		host = rest
	}
	if i := strings.IndexAny(host, `/?#\`); i >= 0 {
		host = host[:i]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if ip, ok := ipOf(host); ok {
		return ip
	}
	if strings.Contains("."+host+".", "..") {
		return ""
	}
	for _, c := range []byte(host) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return ""
		}
	}
	return host
}

// ipOf parses an IP address in any form that programs accept: for example, "127.1", "0x7f000001"
// and "::ffff:127.0.0.1" are all 127.0.0.1.
func ipOf(host string) (string, bool) {
	if host == "" || host[0] > '9' && !strings.Contains(host, ":") {
		return "", false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.WithZone("").Unmap().String(), true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return "", false
	}
	var sum uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32) // 0x is hexadecimal, a leading 0 octal
		last := i == len(parts)-1
		switch {
		case err != nil, strings.Contains(part, "_"), len(part) > 1 && strings.Contains("bo", part[1:2]), !last && n > 255, last && n >= 1<<(8*(5-len(parts))):
			return "", false
		case last:
			sum = sum<<(8*(5-len(parts))) | n
		default:
			sum = sum<<8 | n
		}
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}).String(), true
}
