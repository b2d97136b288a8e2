package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// entry is one parsed entry of a list.
type entry struct {
	text   string
	kind   entryKind
	name   string       // the host; for a wildcard ".example.com"
	prefix netip.Prefix // for address ranges
	port   int          // 0: none given
}

type entryKind int

const (
	anyHost    entryKind = iota // "*"
	subdomains                  // "*.example.com": subdomains at any depth
	oneName                     // "api.example.com"
	addresses                   // "127.0.0.1", "10.0.0.0/8"
)

// entryError reports an invalid entry, with a hint about what to write instead.
type entryError struct{ what, hint string }

func (e *entryError) Error() string { return e.what }

// Hint returns what to write.
func (e *entryError) Hint() string { return e.hint }

// CheckEntry returns a text that says what is wrong with an entry of a host list, and a hint that
// says what to write instead. Both are empty if the entry is valid.
func CheckEntry(text string) (what, hint string) {
	if _, err := parseEntries(text); err != nil {
		return err.what, err.hint
	}
	return "", ""
}

// Match reports whether an entry covers a connection to a host at a port, or at any port if port is 0.
// A wildcard covers no address. An invalid entry or host matches nothing.
func Match(text, host string, port int) bool {
	list, entryErr := parseEntries(text)
	h, err := ParseHost(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if entryErr != nil || err != nil {
		return false
	}
	return slices.ContainsFunc(list, func(e entry) bool { return e.matchesHost(h) && (port == 0 || e.allowsPort(port)) })
}

const hintWholeName = `write the host, and a port if only one is meant: "api.example.com", "*.example.com:443", "10.0.0.0/8"`

func parseEntry(text string) (entry, *entryError) {
	e := entry{text: text}
	switch {
	case text == "":
		return e, &entryError{`"" is empty`, `remove it, or write "*" for every host`}
	case strings.Contains(text, "://") || strings.ContainsAny(text, "@?# \t\r\n"):
		return e, &entryError{fmt.Sprintf("%q is more than a host", text), hintWholeName}
	}
	host, port, err := cutPort(text)
	if err != nil {
		return e, &entryError{fmt.Sprintf("%q: %v", text, err), "a port is a number from 1 to 65535"}
	}
	e.port = port
	if strings.Contains(host, "/") {
		return parsePrefix(e, host)
	}
	if host == "*" {
		return e, nil
	}
	name, wild := strings.CutPrefix(host, "*.")
	if strings.Contains(name, "*") {
		return e, &entryError{fmt.Sprintf("%q has a * in the wrong place", text), `write "*.example.com", or "*" for every host`}
	}
	h, err := ParseHost(name)
	switch {
	case err != nil:
		return e, &entryError{fmt.Sprintf("%q is not a host: %v", text, err), entryHint(name)}
	case h.IsAddr() && wild:
		return e, &entryError{fmt.Sprintf("%q has a * before an address", text), "write a range of addresses: 10.0.0.0/8"}
	case h.IsAddr() && h.Addr.String() != name && !strings.Contains(name, ":"):
		return e, &entryError{fmt.Sprintf("%q is another spelling of an address", text), "write " + h.String()}
	case h.IsAddr():
		e.kind, e.prefix = addresses, netip.PrefixFrom(h.Addr, h.Addr.BitLen())
	case wild:
		e.kind, e.name = subdomains, "."+h.Name
	default:
		e.kind, e.name = oneName, h.Name
	}
	return e, nil
}

func entryHint(name string) string {
	for _, c := range []byte(name) {
		if c >= 0x80 {
			return "write the name in punycode: xn--…"
		}
	}
	return hintWholeName
}

// cutPort splits the port from an entry. An IPv6 address needs brackets only if a port follows.
func cutPort(text string) (host string, port int, err error) {
	if rest, ok := strings.CutPrefix(text, "["); ok {
		inner, after, closed := strings.Cut(rest, "]")
		if !closed || after != "" && after[0] != ':' {
			return "", 0, fmt.Errorf("a bracket is not closed")
		}
		if after == "" {
			return inner, 0, nil
		}
		port, err = parsePort(after[1:])
		return inner, port, err
	}
	if strings.Count(text, ":") != 1 {
		return text, 0, nil
	}
	host, p, _ := strings.Cut(text, ":")
	port, err = parsePort(p)
	return host, port, err
}

func parsePrefix(e entry, text string) (entry, *entryError) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return e, &entryError{fmt.Sprintf("%q is not a range of addresses", e.text), hintWholeName}
	case p.Addr().Is4In6():
		return e, &entryError{fmt.Sprintf("%q is an IPv4 range written as IPv6", e.text), "write it as IPv4: 10.0.0.0/8"}
	case p.Masked() != p:
		return e, &entryError{fmt.Sprintf("%q has host bits set", e.text), "write " + p.Masked().String()}
	}
	e.kind, e.prefix = addresses, p
	return e, nil
}

// matchesHost reports whether the entry covers a host, regardless of the port.
func (e *entry) matchesHost(h Host) bool {
	switch e.kind {
	case anyHost:
		return !h.IsAddr()
	case subdomains:
		return !h.IsAddr() && strings.HasSuffix(h.Name, e.name)
	case oneName:
		return !h.IsAddr() && h.Name == e.name
	}
	return h.IsAddr() && e.prefix.Contains(h.Addr)
}

// allowsPort reports whether an entry of an allow list covers a port. An entry without a port
// covers 80, 443 and the ports from 1024 on.
func (e *entry) allowsPort(port int) bool {
	if e.port != 0 {
		return e.port == port
	}
	return port == 80 || port == 443 || port >= 1024
}

// deniesPort reports whether an entry of a deny list covers a port; an entry without a port covers
// all.
func (e *entry) deniesPort(port int) bool { return e.port == 0 || e.port == port }
