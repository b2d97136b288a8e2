package egress

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
)

// privateAddress looks up the private address of a name before the name is allowed, so that one
// approval request covers both. It returns "" if there is no address that may be allowed. It also
// returns "" if the lookup could leak data to other networks, because a command chooses the name
// and could encode data in it.
func (c *client) privateAddress(t target) string {
	if kind, _ := c.upstream(); kind != upstreamNone || t.host.IsAddr() || isLocal(t.host.Name) {
		return ""
	}
	list := c.p.fromFile(c.ctx, t.host.Name)
	if len(list) == 0 && c.p.isInternalName(t.host.Name) {
		list, _ = c.addresses(t.host) // without an address, the approval request covers only the name
	}
	if open, private, _ := c.filterAddresses(t, list); len(open) == 0 && private.IsValid() {
		return private.String()
	}
	return ""
}

// fromFile returns the addresses in /etc/hosts.
func (p *Proxy) fromFile(ctx context.Context, name string) []netip.Addr {
	if p.hosts == nil {
		return nil
	}
	list, err := p.hosts(ctx, name)
	if err != nil {
		return nil
	}
	for i := range list {
		list[i] = list[i].Unmap()
	}
	return list
}

// lookupHostsFile queries only /etc/hosts.
func lookupHostsFile(ctx context.Context, host string) ([]netip.Addr, error) {
	file := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }}
	return file.LookupNetIP(ctx, "ip", host)
}

// unregistered are top-level labels below which no one can register a name (RFC 2606, 6762, 8375,
// and labels that ICANN does not delegate).
var unregistered = []string{"internal", "corp", "home", "mail", "lan", "intranet", "private", "local", "test", "example"}

// isInternalName reports whether a DNS lookup of the name stays within the user's network, so that the
// command cannot leak data through it. This is true of a name without a dot, a name that cannot be
// registered, a name below a search domain of this machine, and a name in the user's configuration.
func (p *Proxy) isInternalName(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case slices.Contains(unregistered, last), last == name, strings.HasSuffix(name, ".home.arpa"):
		return true
	case slices.ContainsFunc(searched(), func(domain string) bool { return strings.HasSuffix(name, "."+domain) }):
		return true
	}
	return p.o.KnownHosts != nil && slices.Contains(p.o.KnownHosts(), name)
}

// searched are the search domains in /etc/resolv.conf that contain a dot.
var searched = sync.OnceValue(func() []string {
	b, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	return searchDomains(string(b))
})

func searchDomains(conf string) []string {
	var out []string
	for line := range strings.Lines(conf) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "search" && words[0] != "domain" {
			continue
		}
		for _, domain := range words[1:] {
			domain = strings.ToLower(strings.Trim(domain, "."))
			if strings.Contains(domain, ".") {
				out = append(out, domain)
			}
		}
	}
	return out
}
