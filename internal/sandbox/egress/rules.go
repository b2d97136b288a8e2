package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Settings that refusals name.
const (
	SettingAllowed = "network.allowedDomains"
	SettingDenied  = "network.deniedDomains"
)

// Layer is the host lists of one settings layer. An entry is a host ("api.example.com"), its
// subdomains at any depth ("*.example.com"), every name ("*"), or an address or address range
// ("127.0.0.1", "10.0.0.0/8"), each with a port ("api.example.com:22", "[::1]:80") or without one.
// Without a port, an Allow entry allows 80, 443 and every port from 1024 on, and a Deny entry denies
// all ports.
type Layer struct {
	Allow []string // empty: nothing is allowed
	Deny  []string // entries that override every Allow entry, and Ask
	Ask   bool     // true if a host that no entry names needs approval
}

// Rules are compiled layers. A host is allowed if all layers allow it; without layers nothing is
// allowed. Rules are safe for concurrent use.
type Rules struct{ layers []layer }

type layer struct {
	allow, deny []entry
	ask         bool
}

// EntryError rejects an entry of a list. It names the entry and the reason.
type EntryError struct {
	Layer   int
	Setting string // SettingAllowed or SettingDenied
	Index   int
	Detail  string

	hint string
}

func (e *EntryError) Error() string { return fmt.Sprintf("%s[%d]: %s", e.Setting, e.Index, e.Detail) }

// Hint returns what to write.
func (e *EntryError) Hint() string { return e.hint }

// Compile parses layers. The error is an *[EntryError].
func Compile(layers ...Layer) (*Rules, error) {
	r := &Rules{layers: make([]layer, len(layers))}
	for i, l := range layers {
		allow, err := parseList(i, SettingAllowed, l.Allow)
		if err != nil {
			return nil, err
		}
		deny, err := parseList(i, SettingDenied, l.Deny)
		if err != nil {
			return nil, err
		}
		r.layers[i] = layer{allow: allow, deny: deny, ask: l.Ask}
	}
	return r, nil
}

func parseList(layer int, setting string, texts []string) ([]entry, error) {
	var out []entry
	for i, text := range texts {
		list, entryErr := parseEntries(text)
		if entryErr != nil {
			return nil, &EntryError{Layer: layer, Setting: setting, Index: i, Detail: entryErr.what, hint: entryErr.hint}
		}
		out = append(out, list...)
	}
	return out, nil
}

// effect is what the rules decide about a host and a port.
type effect int

const (
	refused effect = iota
	asks
	allowed
)

// decision is an effect with its reason.
type decision struct {
	effect   effect
	wildcard string  // the wildcard of the form "*.example.com" that allows the host, if any
	why      Refusal // why the host is not allowed
}

// decide checks a host by name, before its addresses are known.
func (r *Rules) decide(h Host, port int) decision {
	for i := range r.layers {
		if e := r.layers[i].denies(h, port); e != nil {
			return decision{why: deniedRefusal(h, port, i, e)}
		}
	}
	if len(r.layers) == 0 {
		return decision{why: unlistedRefusal(h, port, -1, false)}
	}
	out := decision{effect: allowed}
	exact := false
	for i := range r.layers {
		l := &r.layers[i]
		e, covered := l.allows(h, port)
		switch {
		case e != nil && e.kind == subdomains:
			out.wildcard = e.text
		case e != nil:
			exact = exact || e.kind != anyHost
		case !l.ask || !isAskable(h):
			return decision{why: unlistedRefusal(h, port, i, covered)}
		case out.effect == allowed:
			out.effect, out.why = asks, unlistedRefusal(h, port, i, covered)
		}
	}
	if exact {
		out.wildcard = ""
	}
	return out
}

// isAskable reports whether approval may be requested for a host. A private address needs an entry:
// a user cannot judge it from an approval request.
func isAskable(h Host) bool {
	if h.IsAddr() {
		return isPublic(h.Addr)
	}
	return !isLocal(h.Name)
}

// isLocal reports whether a name means this machine according to RFC 6761.
func isLocal(name string) bool { return name == "localhost" || strings.HasSuffix(name, ".localhost") }

func (l *layer) denies(h Host, port int) *entry {
	for i := range l.deny {
		e := &l.deny[i]
		if e.deniesPort(port) && (e.matchesHost(h) || h.IsAddr() && e.coversForm(h.Addr)) {
			return e
		}
	}
	return nil
}

// coversForm reports whether a deny entry covers an address, or the IPv4 address inside it.
func (e *entry) coversForm(a netip.Addr) bool {
	if e.kind == anyHost {
		return true
	}
	for _, form := range forms(a) {
		if e.kind == addresses && e.prefix.Contains(form) || e.kind == oneName && isLocal(e.name) && form.IsLoopback() {
			return true
		}
	}
	return false
}

// allows returns the narrowest entry for a host and a port, and reports whether there is any entry for
// the host.
func (l *layer) allows(h Host, port int) (found *entry, covered bool) {
	for i := range l.allow {
		e := &l.allow[i]
		if !e.matchesHost(h) || isLocal(h.Name) && e.kind != oneName {
			continue
		}
		covered = true
		if e.allowsPort(port) && (found == nil || e.kind > found.kind) {
			found = e
		}
	}
	return found, covered
}

// checkAddress checks an address of an allowed host. An address that is not public must match an
// address entry of each layer. An entry "localhost" matches the loopback addresses.
func (r *Rules) checkAddress(h Host, port int, a netip.Addr) *Refusal {
	for i := range r.layers {
		for j := range r.layers[i].deny {
			if e := &r.layers[i].deny[j]; e.deniesPort(port) && e.coversForm(a) {
				f := deniedRefusal(h, port, i, e)
				f.Address, f.Reason = a.String(), fmt.Sprintf("its address %s is denied by %q", a, e.text)
				return &f
			}
		}
	}
	if isPublic(a) {
		return nil
	}
	var f *Refusal
	for i := range r.layers {
		l := &r.layers[i]
		switch {
		case l.lists(h, port, a):
		case !l.ask || h.IsAddr() || isLocal(h.Name) || !isNeighbour(a):
			return privateRefusal(h, port, i, a)
		case f == nil:
			f = privateRefusal(h, port, i, a)
			f.asks = true
		}
	}
	return f
}

// isNeighbour reports whether a private address belongs to another machine, so that approval may be
// requested. It must belong neither to this machine nor to a service that clouds provide to their
// machines.
func isNeighbour(a netip.Addr) bool {
	return !slices.ContainsFunc(forms(a), func(f netip.Addr) bool {
		return f.IsLoopback() || f.IsUnspecified() || f.IsMulticast() || f.IsLinkLocalUnicast() || f == azureServices || isOwn(f)
	})
}

var azureServices = netip.MustParseAddr("168.63.129.16")

func (l *layer) lists(h Host, port int, a netip.Addr) bool {
	for i := range l.allow {
		e := &l.allow[i]
		if !e.allowsPort(port) {
			continue
		}
		if e.kind == addresses && e.prefix.Contains(a) || e.kind == oneName && isLocal(e.name) && e.name == h.Name && a.IsLoopback() {
			return true
		}
	}
	return false
}
