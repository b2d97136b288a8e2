package sandbox

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// network is a compiled [Network]. A nil network allows every host.
type network struct {
	allowed, denied []string
	local           *bool // allowLocalBinding
	ask             *bool
}

// asks reports whether a host on no list needs approval. Outside the kernel sandbox this is so only
// if the settings say so; in the kernel sandbox, unless the settings turn it off.
func (n *network) asks(confined bool) bool { return isTrue(n.ask) || confined && n.ask == nil }

// checkDomainEntry checks the text of an entry of a domain list.
func checkDomainEntry(text string) (what, hint string) { return egress.CheckEntry(text) }

func compileNetwork(n *Network) (*network, error) {
	if n == nil {
		return nil, nil
	}
	for _, l := range []struct {
		field string
		list  []string
	}{{fieldDomains, n.AllowedDomains}, {fieldDeniedDomains, n.DeniedDomains}} {
		for i, entry := range l.list {
			if what, hint := checkDomainEntry(entry); what != "" {
				return nil, &Error{Field: fmt.Sprintf("%s[%d]", l.field, i), Detail: what, hint: hint}
			}
		}
	}
	out := &network{allowed: n.AllowedDomains, denied: n.DeniedDomains, local: n.AllowLocalBinding, ask: n.Ask}
	if n.AllowManagedDomainsOnly {
		out.ask = new(false)
	}
	return out, nil
}

// check checks a connection to a host or to the host of a URL. In the kernel sandbox, localhost is
// private to the command.
func (n *network) check(target, tool string, confined bool) *Denial {
	if n == nil {
		return nil
	}
	d := &Denial{Tool: tool, Subject: target, Setting: fieldDomains, kind: kindHost}
	host, port, ok := hostOf(target)
	if !ok {
		d.Reason, d.kind = "host '"+target+"' cannot be parsed", kindUnclear
		return d
	}
	if entry, ok := n.denies(host, port); ok {
		d.Setting, d.Rule = fieldDeniedDomains, entry
		d.Reason = "host '" + host + "' is a denied domain"
		return d
	}
	switch local := isLocal(host); {
	case n.allows(host, port, local):
		return nil
	case local && (isTrue(n.local) || confined && n.local == nil):
		return nil
	case local:
		d.Setting = fieldLocal
		d.Reason = "host '" + host + "' is this machine"
		if confined {
			d.Reason = "host '" + host + "' is the command's private localhost, which " + fieldLocal + " denies"
		}
		return d
	}
	d.Reason = "host '" + host + "' is outside allowed domains"
	d.asks = n.asks(confined)
	return d
}

// allows reports whether an entry covers a host. An entry with a star never covers this machine.
func (n *network) allows(host string, port int, local bool) bool {
	return slices.ContainsFunc(n.allowed, func(entry string) bool {
		return egress.Match(entry, host, port) && (!local || entry[0] != '*')
	})
}

// denies returns the entry that denies a host. An entry without a port denies all ports; an entry
// with a port denies that port, and a connection whose port is unknown.
func (n *network) denies(host string, port int) (string, bool) {
	for _, entry := range n.denied {
		if hasPort(entry) && port != 0 && !egress.Match(entry, host, port) {
			continue
		}
		if egress.Match(entry, host, 0) {
			return entry, true
		}
	}
	return "", false
}

// hasPort reports whether an entry of a domain list contains a port.
func hasPort(entry string) bool {
	return strings.Count(entry, ":") == 1 || strings.Contains(entry, "]:")
}

// defaultPorts are the default ports of URL schemes.
var defaultPorts = map[string]int{
	"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21, "ssh": 22, "sftp": 22, "git+ssh": 22, "git": 9418,
	"socks5": 1080, "socks5h": 1080,
}

// hostOf extracts the host and the port from a URL, "host:port" or a host. An unknown port is 0.
func hostOf(target string) (host string, port int, ok bool) {
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil {
			return "", 0, false
		}
		port = defaultPorts[strings.ToLower(u.Scheme)]
		if u.Port() != "" {
			port, err = strconv.Atoi(u.Port())
		}
		host, ok = hostName(u.Hostname())
		return host, port, ok && err == nil
	}
	if name, text, err := net.SplitHostPort(target); err == nil {
		if text != "" {
			if port, err = strconv.Atoi(text); err != nil {
				return "", 0, false
			}
		}
		host, ok = hostName(name)
		return host, port, ok
	}
	host, ok = hostName(strings.TrimSuffix(strings.TrimPrefix(target, "["), "]"))
	return host, 0, ok
}

// hostName normalizes a name or an address for comparison. A number that some resolvers read as an
// address ("127.1", "0x7f000001") is not a valid host.
func hostName(h string) (string, bool) {
	h = strings.ToLower(strings.TrimSuffix(h, "."))
	if a, err := netip.ParseAddr(h); err == nil {
		return a.Unmap().WithZone("").String(), true
	}
	last := h[strings.LastIndexByte(h, '.')+1:]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return "", false
	}
	for i := range len(h) {
		if c := h[i]; c != '-' && c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && c < 0x80 {
			return "", false
		}
	}
	return h, !strings.HasPrefix(h, ".") && !strings.Contains(h, "..")
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		host == "localhost.localdomain" || host == "ip6-localhost" || host == "ip6-loopback"
}

// networkPrograms are well-known programs whose purpose is network access.
var networkPrograms = []string{
	"aria2c", "curl", "dig", "ftp", "host", "http", "https", "lftp", "nc", "ncat", "netcat", "nslookup", "ping", "ping6",
	"rsync", "scp", "sftp", "socat", "ssh", "telnet", "tftp", "traceroute", "wget", "whois", "xh",
}

// checkCommand checks the hosts that a command names: URLs in any argument and, for a network
// program, every argument that looks like a host. A network program must name a host. checkCommand
// cannot see hosts that a program chooses itself. A denial that the user may allow is returned if
// nothing else denies.
func (n *network) checkCommand(cmd *shellparse.Command, confined bool) *Denial {
	if n == nil {
		return nil
	}
	hosts, asked := n.hosts(cmd, confined)
	if asked != nil && !asked.asks {
		return asked
	}
	for _, host := range hosts {
		d := n.check(host, "Bash", confined)
		if d != nil && !d.asks {
			return d
		}
		asked = cmp.Or(asked, d)
	}
	return asked
}

// hosts returns the hosts that a command names. It returns a denial if the command may connect to
// hosts that it does not name.
func (n *network) hosts(cmd *shellparse.Command, confined bool) (list []string, unknown *Denial) {
	connects := slices.Contains(networkPrograms, cmd.Name)
	for _, a := range cmd.Args {
		if !a.Static {
			if connects || strings.Contains(a.Text, "://") {
				unknown = cmp.Or(unknown, n.unknownHostDenial(cmd, confined, "'"+a.Text+"' cannot be known before the command runs"))
			}
			continue
		}
		host, ok := target(a.Text, connects)
		if ok && (!isFile(cmd, a.Text) || strings.Contains(a.Text, "://")) {
			list = append(list, host)
		}
	}
	if connects && len(list) == 0 {
		unknown = cmp.Or(unknown, n.unknownHostDenial(cmd, confined, "the host cannot be determined"))
	}
	for _, p := range cmd.Paths {
		host, ok := strings.CutPrefix(p.Path, "/dev/tcp/")
		if !ok {
			host, ok = strings.CutPrefix(p.Path, "/dev/udp/")
		}
		if ok {
			host, _, _ = strings.Cut(host, "/")
			list = append(list, host)
		}
	}
	return list, unknown
}

// isFile reports whether the program treats an argument as a file.
func isFile(cmd *shellparse.Command, arg string) bool {
	return slices.ContainsFunc(cmd.Paths, func(p shellparse.Path) bool { return p.Arg == arg && p.Source == shellparse.FromArgument })
}

func (n *network) unknownHostDenial(cmd *shellparse.Command, confined bool, why string) *Denial {
	return &Denial{
		Tool: "Bash", Subject: cmd.Name, Setting: fieldDomains, kind: kindUnclear, asks: n.asks(confined),
		Reason: "command '" + cmd.Name + "' may reach a host outside allowed domains: " + why,
	}
}

// target returns the host that an argument would connect to. Without a scheme, only arguments of
// network programs count: "user@host", "host:path", "name.example".
func target(arg string, connects bool) (string, bool) {
	if i := strings.Index(arg, "://"); i >= 0 {
		scheme := i
		for scheme > 0 && (isLetter(arg[scheme-1]) || strings.IndexByte("+-.0123456789", arg[scheme-1]) >= 0) {
			scheme--
		}
		if arg[scheme:i] == "file" {
			return "", false
		}
		return arg[scheme:], true
	}
	if !connects || arg == "" || strings.ContainsAny(arg, " \t\n") || arg[0] == '-' || arg[0] == '.' || arg[0] == '~' || path.IsAbs(arg) {
		return "", false
	}
	host, _, _ := strings.Cut(arg[strings.LastIndexByte(arg, '@')+1:], "/")
	if end := strings.IndexByte(host, ']'); host != "" && host[0] == '[' && end > 0 {
		return host[:end+1], true
	}
	host, _, colon := strings.Cut(host, ":")
	if !colon && !strings.Contains(host, ".") && !strings.Contains(arg, "@") && host != "localhost" {
		return "", false
	}
	return host, host != ""
}
