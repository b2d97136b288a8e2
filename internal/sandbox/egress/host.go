package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// Host is a host in the one form that is compared: a name or an address.
type Host struct {
	Name string     // lower case, without a dot at the end; "" for an address
	Addr netip.Addr // IPv4 in four bytes, without a zone; not valid for a name
}

// String returns the name, or the address without brackets.
func (h Host) String() string {
	if h.IsAddr() {
		return h.Addr.String()
	}
	return h.Name
}

// IsAddr says whether it is an address.
func (h Host) IsAddr() bool { return h.Addr.IsValid() }

// The bounds of RFC 1035.
const (
	maxName  = 253
	maxLabel = 63
)

// ParseHost reads a host as a client names it, without a port and brackets. A
// number that some resolver takes for an address ("127.1", "0x7f000001") is that
// address, and so is an IPv4 address written as IPv6. A name has letters of ASCII,
// digits and hyphens only; one with others must come in punycode.
func ParseHost(text string) (Host, error) {
	if strings.Contains(text, ":") {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return Host{}, fmt.Errorf("%q is no address", truncate.String(text, maxName))
		}
		return Host{Addr: a.Unmap()}, nil
	}
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	if err := checkName(name); err != nil {
		return Host{}, fmt.Errorf("%q is no host: %w", truncate.String(text, maxName), err)
	}
	if !endsInNumber(name) {
		return Host{Name: name}, nil
	}
	a, ok := parseIPv4(name)
	if !ok {
		return Host{}, fmt.Errorf("%q is no address", truncate.String(text, maxName))
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
			return fmt.Errorf("a part has a hyphen at its end")
		}
		for _, c := range []byte(label) {
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return fmt.Errorf("%q cannot be in it", c)
			}
		}
	}
	return nil
}

// endsInNumber says whether resolvers may take a name for an IPv4 address, as the
// URL standard has it: its last part is a number.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// parseIPv4 reads an address as inet_aton does: one to four numbers, decimal,
// octal or hexadecimal, of which the last one fills what is left.
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

// splitAuthority reads "host:port" or "[address]:port". Without a port it is
// standard, or an error where that is 0.
func splitAuthority(text string, standard int) (Host, int, error) {
	host, port := text, ""
	rest, bracket := strings.CutPrefix(text, "[")
	if bracket {
		inner, after, ok := strings.Cut(rest, "]")
		if !ok || !strings.Contains(inner, ":") || after != "" && after[0] != ':' {
			return Host{}, 0, fmt.Errorf("%q is no host and port", truncate.String(text, maxName))
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
		return 0, fmt.Errorf("%q is no port", truncate.String(text, maxName))
	}
	return int(n), nil
}
