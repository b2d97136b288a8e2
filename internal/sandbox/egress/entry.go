package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// entry is one entry of a list, read.
type entry struct {
	text   string
	kind   entryKind
	name   string       // the host; of a wildcard ".example.com"
	prefix netip.Prefix // of addresses
	port   int          // 0: none is given
}

type entryKind int

const (
	anyHost    entryKind = iota // "*"
	subdomains                  // "*.example.com": what is below, at any depth
	oneName                     // "api.example.com"
	addresses                   // "127.0.0.1", "10.0.0.0/8"
)

// entryError is an entry that cannot be read, with what to write in its place.
type entryError struct{ what, hint string }

func (e *entryError) Error() string { return e.what }

// Hint says what to write.
func (e *entryError) Hint() string { return e.hint }

// CheckEntry says what is wrong with an entry of a list of hosts, and what to write
// in its place. Both are empty when it is right.
func CheckEntry(text string) (what, hint string) {
	if _, err := parseEntries(text); err != nil {
		return err.what, err.hint
	}
	return "", ""
}

// Match says whether an entry covers a connection to a host at a port, or at any
// port when that is 0. A wildcard covers no address. What cannot be read matches
// nothing.
func Match(text, host string, port int) bool {
	list, wrong := parseEntries(text)
	h, err := ParseHost(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if wrong != nil || err != nil {
		return false
	}
	return slices.ContainsFunc(list, func(e entry) bool { return e.matchesHost(h) && (port == 0 || e.allowsPort(port)) })
}

const hintWholeName = `write the host, and a port if only one is meant: "api.example.com", "*.example.com:443", "10.0.0.0/8"`

func parseEntry(text string) (entry, *entryError) {
	e := entry{text: text}
	switch {
	case text == "":
		return e, &entryError{`"" is empty`, `take it out; "*" is every host`}
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
		return e, &entryError{fmt.Sprintf("%q has a * where none can be", text), `write "*.example.com", or "*" for every host`}
	}
	h, err := ParseHost(name)
	switch {
	case err != nil:
		return e, &entryError{fmt.Sprintf("%q is not a host: %v", text, err), entryHint(name)}
	case h.IsAddr() && wild:
		return e, &entryError{fmt.Sprintf("%q has a * before an address", text), "write a range of addresses: 10.0.0.0/8"}
	case h.IsAddr() && h.Addr.String() != name && !strings.Contains(name, ":"):
		return e, &entryError{fmt.Sprintf("%q is an address in disguise", text), "write " + h.String()}
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

// cutPort takes the port off an entry. Brackets around an IPv6 address are needed
// only where one follows.
func cutPort(text string) (host string, port int, err error) {
	if rest, ok := strings.CutPrefix(text, "["); ok {
		inner, after, closed := strings.Cut(rest, "]")
		if !closed || after != "" && after[0] != ':' {
			return "", 0, fmt.Errorf("a bracket is left open")
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
		return e, &entryError{fmt.Sprintf("%q is a range of IPv4 in disguise", e.text), "write it as IPv4: 10.0.0.0/8"}
	case p.Masked() != p:
		return e, &entryError{fmt.Sprintf("%q has bits behind its length", e.text), "write " + p.Masked().String()}
	}
	e.kind, e.prefix = addresses, p
	return e, nil
}

// matchesHost says whether the entry is about a host, whatever the port.
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

// allowsPort says whether an entry of an allow list is for a port. One without a port
// is for the web: 80, 443 and what is not reserved.
func (e *entry) allowsPort(port int) bool {
	if e.port != 0 {
		return e.port == port
	}
	return port == 80 || port == 443 || port >= 1024
}

// deniesPort says whether an entry of a deny list is for a port: without one it is for
// all.
func (e *entry) deniesPort(port int) bool { return e.port == 0 || e.port == port }
