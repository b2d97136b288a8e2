package auth

import (
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// hosts contains the host names that requests to the daemon may have. Another site can make its
// name resolve to this machine (DNS rebinding). A page of that site sends the site's name in Host,
// so its requests are rejected.
type hosts struct {
	allowed map[string]bool // "name:port", or "name" for any port
	origins map[string]bool // "scheme://host[:port]"

	mu    sync.RWMutex
	local map[string]bool // "host:port" of listeners
	bases []string        // "http://host:port"
}

func newHosts(names, origins []string) (*hosts, error) {
	h := &hosts{allowed: map[string]bool{}, origins: map[string]bool{}, local: map[string]bool{}}
	for _, n := range names {
		host, port, ok := splitHost(n)
		if !ok {
			return nil, invalid("auth: invalid host %q", n).with("write HOST or HOST:PORT")
		}
		h.allowed[joinHost(host, port)] = true
	}
	for _, text := range origins {
		o, ok := parseOrigin(text)
		if !ok {
			return nil, invalid("auth: invalid origin %q", text).with("write SCHEME://HOST[:PORT], such as https://console.example.org")
		}
		h.origins[o.String()] = true
	}
	return h, nil
}

// Listening adds an address for TCP clients, so that requests may have that address as their Host.
func (a *Auth) Listening(addr net.Addr) { a.hosts.listen("http", addr) }

// ListeningTLS does the same as [Auth.Listening], for an address where clients use TLS.
func (a *Auth) ListeningTLS(addr net.Addr) { a.hosts.listen("https", addr) }

func (h *hosts) listen(scheme string, addr net.Addr) {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return // a unix socket
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range namesOf(ap.Addr()) {
		h.local[joinHost(name, strconv.Itoa(int(ap.Port())))] = true
	}
	host := ap
	if ap.Addr().IsUnspecified() {
		host = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), ap.Port())
	}
	if base := scheme + "://" + host.String(); !slices.Contains(h.bases, base) {
		h.bases = append(h.bases, base)
	}
}

// namesOf returns the host names for an address of a listener.
func namesOf(addr netip.Addr) []string {
	addr = addr.Unmap().WithZone("")
	if addr.IsLoopback() || addr.IsUnspecified() {
		return []string{addr.String(), "localhost", "127.0.0.1", "::1"}
	}
	return []string{addr.String()}
}

// linkBase returns the base URL for login links; see [Auth.LinkURL]. The Host of r was already
// checked.
func (h *hosts) linkBase(r *http.Request) string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if len(h.bases) == 0 {
		return ""
	}
	if len(h.origins) == 1 {
		return slices.Collect(maps.Keys(h.origins))[0]
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return h.bases[0]
}

// isKnownHost reports whether the Host of a request is the address of a listener, the address of
// this connection, or an allowed host.
func (h *hosts) isKnownHost(r *http.Request) bool {
	host, port, ok := splitHost(r.Host)
	if !ok {
		return false
	}
	if port == "" {
		port = defaultPort(r.TLS)
	}
	if h.allowed[host] || h.allowed[joinHost(host, port)] {
		return true
	}
	h.mu.RLock()
	listed := h.local[joinHost(host, port)]
	h.mu.RUnlock()
	return listed || isConnAddr(r, host, port)
}

// isConnAddr reports whether a host is the local address of the connection. A host name never
// matches, because another site can make its name resolve to this machine.
func isConnAddr(r *http.Request, host, port string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	ap, err := netip.ParseAddrPort(local.String())
	if err != nil || strconv.Itoa(int(ap.Port())) != port {
		return false
	}
	return slices.Contains(namesOf(ap.Addr()), host)
}

func defaultPort(t *tls.ConnectionState) string {
	if t != nil {
		return "443"
	}
	return "80"
}

// sameOrAllowed reports whether an Origin is the origin of the console or an allowed origin.
func (h *hosts) sameOrAllowed(r *http.Request, origin string) bool {
	o, ok := parseOrigin(origin)
	if !ok {
		return false
	}
	if h.origins[o.String()] {
		return true
	}
	host, port, ok := splitHost(r.Host)
	if !ok || o.host != host {
		return false
	}
	listed := h.allowed[host] || port != "" && h.allowed[joinHost(host, port)]
	switch {
	case r.TLS != nil && o.scheme != "https", r.TLS == nil && o.scheme == "https" && !listed: // a trusted proxy ends TLS
		return false
	}
	if port == "" {
		port = defaultPort(r.TLS)
		if o.scheme == "https" {
			port = "443"
		}
	}
	return o.portOrDefault() == port
}

// origin is scheme://host[:port], without the scheme's default port.
type origin struct{ scheme, host, port string }

func (o origin) String() string { return o.scheme + "://" + joinHost(o.host, o.port) }

func (o origin) portOrDefault() string {
	switch {
	case o.port != "":
		return o.port
	case o.scheme == "https":
		return "443"
	}
	return "80"
}

func parseOrigin(text string) (origin, bool) {
	scheme, rest, ok := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return origin{}, false
	}
	host, port, ok := splitHost(rest)
	o := origin{scheme, host, port}
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		o.port = ""
	}
	return o, ok
}

// splitHost parses HOST or HOST:PORT. HOST is a name of letters, digits, dots and dashes, an IPv4
// address, or an IPv6 address in brackets. It returns lower case, without a final dot, and
// addresses in their canonical form.
func splitHost(text string) (host, port string, ok bool) {
	if len(text) > 300 {
		return "", "", false
	}
	if strings.HasPrefix(text, "[") {
		addr, rest, found := strings.Cut(text[1:], "]")
		a, err := netip.ParseAddr(addr)
		if !found || err != nil || !a.Is6() || a.Zone() != "" {
			return "", "", false
		}
		host, text = a.Unmap().String(), rest
		if text == "" {
			return host, "", true
		}
		if text[0] != ':' {
			return "", "", false
		}
		return host, text[1:], isPort(text[1:])
	}
	host, port, found := strings.Cut(text, ":")
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || strings.ContainsFunc(host, func(r rune) bool { return !isHostRune(r) }) {
		return "", "", false
	}
	return host, port, !found || isPort(port)
}

func isHostRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_'
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '0' && s[0] != '+'
}

func joinHost(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" {
		return host
	}
	return host + ":" + port
}

// IsLoopback reports whether only this machine can reach HOST:PORT. The only name that it accepts
// is localhost; it does not resolve other names.
func IsLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// tokenInQuery reports whether the URL contains a token. Logs and browser histories store URLs.
func tokenInQuery(raw string) bool {
	if raw == "" {
		return false
	}
	plain, err := url.QueryUnescape(raw)
	if err != nil {
		plain = raw
	}
	q, _ := url.ParseQuery(raw)
	return looksSecret(raw) || looksSecret(plain) || q.Has("access_token")
}

// Path returns the path of a request, with tokens removed, for use in a log.
func Path(r *http.Request) string {
	if looksSecret(r.URL.Path) {
		head, _, _ := strings.Cut(r.URL.Path, tokenPrefix)
		return head + tokenPrefix + "…"
	}
	return r.URL.Path
}

const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// looksSecret reports whether a text contains the prefix followed by as many characters as a token
// has.
func looksSecret(text string) bool {
	for {
		_, rest, found := strings.Cut(text, tokenPrefix)
		if !found {
			return false
		}
		if len(rest)-len(strings.TrimLeft(rest, base64url)) >= 43 {
			return true
		}
		text = rest
	}
}
