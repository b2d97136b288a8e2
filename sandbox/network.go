package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/policy/shellread"
)

// network is a compiled [Network]. Nil lets every host pass.
type network struct {
	all   bool
	exact map[string]string // a host → the entry
	below []string          // ".example.com", of "*.example.com"
	local bool
}

// checkDomainEntry judges an entry of allowedDomains by its text.
func checkDomainEntry(text string) (what, hint string) {
	name := strings.TrimPrefix(text, "*.")
	switch {
	case text == "":
		return `"" is empty`, `take it out; "*" is every host`
	case text == "*":
		return "", ""
	case strings.Contains(text, "://") || strings.ContainsAny(text, "/@ \t\n"):
		return fmt.Sprintf("%q is more than a host", text), "write the host alone: api.example.com"
	case strings.Contains(name, "*"):
		return fmt.Sprintf("%q has a * where none can be", text), `write "*.example.com", or "*" for every host`
	}
	if h, ok := hostName(name); !ok || h == "" {
		return fmt.Sprintf("%q is not a host", text), "write the host alone, without a port: api.example.com"
	}
	return "", ""
}

func compileNetwork(n *Network) (*network, error) {
	if n == nil {
		return nil, nil
	}
	out := &network{exact: map[string]string{}, local: n.AllowLocalBinding}
	for i, entry := range n.AllowedDomains {
		if what, hint := checkDomainEntry(entry); what != "" {
			return nil, &SettingsError{Field: fmt.Sprintf("%s[%d]", fieldDomains, i), What: what, hint: hint}
		}
		if entry == "*" {
			out.all = true
			continue
		}
		name, wild := strings.CutPrefix(entry, "*.")
		h, _ := hostName(name)
		if wild {
			out.below = append(out.below, "."+h)
		} else {
			out.exact[h] = entry
		}
	}
	return out, nil
}

// check judges a connection to a host, or to a URL's.
func (n *network) check(target, tool string) *Denial {
	if n == nil {
		return nil
	}
	d := &Denial{Tool: tool, What: target, Setting: fieldDomains, kind: kindHost}
	host, ok := hostOf(target)
	switch {
	case !ok:
		d.Reason, d.kind = "host '"+target+"' cannot be read", kindUnclear
		return d
	case isLocal(host):
		if n.local {
			return nil
		}
		d.Setting = fieldLocal
		d.Reason = "host '" + host + "' is this machine"
		return d
	case n.allows(host):
		return nil
	}
	d.Reason = "host '" + host + "' is outside allowed domains"
	return d
}

func (n *network) allows(host string) bool {
	if _, ok := n.exact[host]; ok || n.all {
		return true
	}
	return slices.ContainsFunc(n.below, func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}

// hostOf takes the host out of a URL, "host:port" or a host.
func hostOf(target string) (string, bool) {
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil {
			return "", false
		}
		return hostName(u.Hostname())
	}
	if host, _, err := net.SplitHostPort(target); err == nil {
		return hostName(host)
	}
	return hostName(strings.TrimSuffix(strings.TrimPrefix(target, "["), "]"))
}

// hostName brings a name or an address into the one form that is compared. A
// number that some resolvers take for an address ("127.1", "0x7f000001") is none.
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

// connecting are well-known programs whose business is the network.
var connecting = []string{
	"aria2c", "curl", "dig", "ftp", "host", "http", "https", "lftp", "nc", "ncat", "netcat", "nslookup", "ping", "ping6",
	"rsync", "scp", "sftp", "socat", "ssh", "telnet", "tftp", "traceroute", "wget", "whois", "xh",
}

// checkCommand judges the hosts that a command names: URLs in any argument, and
// whatever looks like a host in those of a program of the network, which must
// name one. What a program connects to by itself is not in the line.
func (n *network) checkCommand(cmd *shellread.Command) *Denial {
	if n == nil {
		return nil
	}
	connects := slices.Contains(connecting, cmd.Name)
	named := false
	for _, a := range cmd.Args {
		if !a.Static {
			if connects || strings.Contains(a.Text, "://") {
				return n.unknown(cmd, "'"+a.Text+"' cannot be known before the command runs")
			}
			continue
		}
		host, ok := target(a.Text, connects)
		if !ok || isFile(cmd, a.Text) && !strings.Contains(a.Text, "://") {
			continue
		}
		named = true
		if d := n.check(host, "Bash"); d != nil {
			return d
		}
	}
	for _, p := range cmd.Paths {
		host, ok := strings.CutPrefix(p.Path, "/dev/tcp/")
		if !ok {
			host, ok = strings.CutPrefix(p.Path, "/dev/udp/")
		}
		if ok {
			host, _, _ = strings.Cut(host, "/")
			if d := n.check(host, "Bash"); d != nil {
				return d
			}
		}
	}
	if connects && !named {
		return n.unknown(cmd, "the host is not clear")
	}
	return nil
}

// isFile reports whether the program takes an argument for a file.
func isFile(cmd *shellread.Command, arg string) bool {
	return slices.ContainsFunc(cmd.Paths, func(p shellread.Path) bool { return p.Arg == arg && p.From == shellread.FromArgument })
}

func (n *network) unknown(cmd *shellread.Command, why string) *Denial {
	return &Denial{
		Tool: "Bash", What: cmd.Name, Setting: fieldDomains, kind: kindUnclear,
		Reason: "command '" + cmd.Name + "' may reach a host outside allowed domains: " + why,
	}
}

// target finds what an argument would connect to. Without a scheme it counts only
// for a program of the network: "user@host", "host:path", "name.example".
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
	host, _, colon := strings.Cut(host, ":")
	if !colon && !strings.Contains(host, ".") && !strings.Contains(arg, "@") && host != "localhost" {
		return "", false
	}
	return host, host != ""
}
