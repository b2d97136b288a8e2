package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// Host is a host in normalized form: a name or an address.
type Host struct {
	Name string     // lower case, without a trailing dot; "" for an address
	Addr netip.Addr // IPv4 in four bytes, without a zone; invalid for a name
}

// String returns the name, or the address without brackets.
func (h Host) String() string {
	if h.IsAddr() {
		return h.Addr.String()
	}
	return h.Name
}

// IsAddr reports whether the host is an address.
func (h Host) IsAddr() bool { return h.Addr.IsValid() }

// Limits of RFC 1035.
const (
	maxName  = 253
	maxLabel = 63
)

// ParseHost parses a host as a client names it, without a port and brackets. A number that some
// resolvers read as an address ("127.1", "0x7f000001") is that address, and so is an IPv4 address
// written as IPv6. A name contains only ASCII letters, digits and hyphens; other names must be in
// punycode.
func ParseHost(text string) (Host, error) {
	if strings.Contains(text, ":") {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return Host{}, fmt.Errorf("%q is not an address", truncate.String(text, maxName))
		}
		return Host{Addr: a.Unmap()}, nil
	}
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	if err := checkName(name); err != nil {
		return Host{}, fmt.Errorf("%q is not a host: %w", truncate.String(text, maxName), err)
	}
	if !endsInNumber(name) {
		return Host{Name: name}, nil
	}
	a, ok := parseIPv4(name)
	if !ok {
		return Host{}, fmt.Errorf("%q is not an address", truncate.String(text, maxName))
	}
	return Host{Addr: a}, nil
}

func checkName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("it is longer than %d", maxName)
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return fmt.Errorf("a part is empty")
		case len(label) > maxLabel:
			return fmt.Errorf("a part is longer than %d", maxLabel)
		case label[0] == '-' || label[len(label)-1] == '-':
			return fmt.Errorf("a part starts or ends with a hyphen")
		}
		for _, c := range []byte(label) {
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return fmt.Errorf("it contains %q", c)
			}
		}
	}
	return nil
}

// endsInNumber reports whether resolvers may read a name as an IPv4 address, as in the URL standard:
// its last part is a number.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// parseIPv4 parses an address like inet_aton: one to four decimal, octal or hexadecimal numbers, of
// which the last one fills the remaining bytes.
func parseIPv4(name string) (netip.Addr, bool) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var ip uint64
	for i, p := range parts {
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		n, err := parseNumber(p)
		if err != nil || n >= 1<<bits {
			return netip.Addr{}, false
		}
		ip = ip<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}), true
}

func parseNumber(p string) (uint64, error) {
	if hex, ok := strings.CutPrefix(p, "0x"); ok {
		if hex == "" {
			return 0, nil
		}
		return strconv.ParseUint(hex, 16, 64)
	}
	if len(p) > 1 && p[0] == '0' {
		return strconv.ParseUint(p[1:], 8, 64)
	}
	return strconv.ParseUint(p, 10, 64)
}

// splitAuthority parses "host:port" or "[address]:port". The parameter standard is the port to use
// if the text has none; if it is 0, a missing port is an error.
func splitAuthority(text string, standard int) (Host, int, error) {
	host, port := text, ""
	rest, bracket := strings.CutPrefix(text, "[")
	if bracket {
		inner, after, ok := strings.Cut(rest, "]")
		if !ok || !strings.Contains(inner, ":") || after != "" && after[0] != ':' {
			return Host{}, 0, fmt.Errorf("%q is not a host and port", truncate.String(text, maxName))
		}
		host, port = inner, after
	} else if i := strings.IndexByte(text, ':'); i >= 0 {
		host, port = text[:i], text[i:]
	}
	number := standard
	if port != "" {
		n, err := parsePort(port[1:])
		if err != nil {
			return Host{}, 0, fmt.Errorf("%q: %w", truncate.String(text, maxName), err)
		}
		number = n
	}
	if number == 0 {
		return Host{}, 0, fmt.Errorf("%q has no port", truncate.String(text, maxName))
	}
	h, err := ParseHost(host)
	return h, number, err
}

func parsePort(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || len(text) > 5 {
		return 0, fmt.Errorf("%q is not a port", truncate.String(text, maxName))
	}
	return int(n), nil
}
