package egress

import (
	"net"
	"net/netip"
	"slices"
)

// special are the addresses outside the public network. They are the addresses of this machine, of
// local networks and of special use, according to the IANA registries, and those of the services
// that clouds provide to their machines.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32",           // Azure's services
	"2001::/23", "2001:db8::/32", // Teredo, benchmarks, ORCHID; examples
	"2002::/16", "2620:4f:8000::/48", "3fff::/20", // 6to4; AS112; examples
)

// global is the allocated part of IPv6. It does not include NAT64, link-local, unique local and
// multicast addresses.
var global = netip.MustParsePrefix("2000::/3")

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

func within(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// isPublic reports whether an address belongs to the public network and is not an address of this
// machine.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if a.Zone() != "" || a.Is6() && !global.Contains(a) || within(special, a) {
		return false
	}
	return !isOwn(a)
}

// isOwn reports whether this machine has the address. If that cannot be determined, it returns true.
func isOwn(a netip.Addr) bool {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(list, func(local net.Addr) bool {
		n, ok := local.(*net.IPNet)
		if !ok {
			return false
		}
		b, ok := netip.AddrFromSlice(n.IP)
		return ok && b.Unmap() == a
	})
}

// nat64 are the prefixes under which IPv4 addresses are reached over IPv6. Each has the position of
// the IPv4 address in the IPv6 address.
var nat64 = []struct {
	prefix netip.Prefix
	at     int
	flip   byte
}{
	{netip.MustParsePrefix("::/96"), 12, 0},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, 0},
	{netip.MustParsePrefix("64:ff9b::/96"), 12, 0},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12, 0},
	{netip.MustParsePrefix("2002::/16"), 2, 0},
	{netip.MustParsePrefix("2001::/32"), 12, 0xff}, // Teredo inverts the bits
}

// forms returns an address and the IPv4 address inside it, if any: denying one denies the other.
func forms(a netip.Addr) []netip.Addr {
	a = a.Unmap()
	out := []netip.Addr{a}
	for _, n := range nat64 {
		if n.prefix.Contains(a) {
			b := a.As16()
			v4 := [4]byte(b[n.at : n.at+4])
			for i := range v4 {
				v4[i] ^= n.flip
			}
			out = append(out, netip.AddrFrom4(v4))
		}
	}
	return out
}
